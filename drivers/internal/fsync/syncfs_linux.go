package fsync

import (
	"os"

	"golang.org/x/sys/unix"
)

func syncfs(directory *os.File) error { return unix.Syncfs(int(directory.Fd())) }
