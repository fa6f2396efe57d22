//go:build !linux

package linux

import (
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Measures says if Assay can measure here.
const Measures = false

const (
	BTRFS_SUPER_MAGIC      = 0x9123683e
	EXT4_SUPER_MAGIC       = 0xef53
	XFS_SUPER_MAGIC        = 0x58465342
	AF_NETLINK             = 0
	CLONE_NEWNS            = 0
	CLOCK_BOOTTIME         = 0
	CLOCK_REALTIME_COARSE  = 0
	FADV_DONTNEED          = 0
	FALLOC_FL_PUNCH_HOLE   = 0
	FALLOC_FL_ZERO_RANGE   = 0
	F_ADD_SEALS            = 0
	F_SEAL_GROW            = 0
	F_SEAL_SEAL            = 0
	F_SEAL_SHRINK          = 0
	F_SEAL_WRITE           = 0
	LOOP_CTL_GET_FREE      = 0
	LO_FLAGS_AUTOCLEAR     = 0
	MAP_POPULATE           = 0
	MFD_ALLOW_SEALING      = 0
	MFD_CLOEXEC            = 0
	MFD_NOEXEC_SEAL        = 0
	MNT_DETACH             = 0
	MNT_FORCE              = 0
	MS_DIRSYNC             = 0
	MS_NOATIME             = 0
	MS_NODEV               = 0
	MS_NODIRATIME          = 0
	MS_NOSUID              = 0
	MS_PRIVATE             = 0
	MS_REC                 = 0
	MS_SYNCHRONOUS         = 0
	NETLINK_SOCK_DIAG      = 0
	NLMSG_ALIGNTO          = 0
	NLMSG_DONE             = 3
	NLMSG_ERROR            = 2
	NLMSG_HDRLEN           = 0
	NLM_F_DUMP             = 0
	NLM_F_REQUEST          = 0
	O_DIRECT               = 0
	O_TMPFILE              = 0
	PERF_FLAG_FD_CLOEXEC   = 0
	PERF_TYPE_TRACEPOINT   = 0
	PerfBitInherit         = 0
	PR_SET_CHILD_SUBREAPER = 0
	P_PID                  = 0
	SEEK_DATA              = 0
	SEEK_HOLE              = 0
	SOCK_CLOEXEC           = 0
	SYNC_FILE_RANGE_WRITE  = 0
	TIMER_ABSTIME          = 0
	UMOUNT_NOFOLLOW        = 0
)

type (
	CPUSet     struct{}
	LoopInfo64 struct {
		Flags     uint32
		File_name [64]uint8 //nolint:revive // as the kernel's header has it
	}
	LoopConfig struct {
		Fd   uint32
		Info LoopInfo64
	}
	PerfEventAttr struct {
		Type, Size   uint32
		Config, Bits uint64
	}
	SockaddrNetlink struct {
		unix.Sockaddr
		Family uint16
	}
)

func (*CPUSet) Set(int)        {}
func (*CPUSet) IsSet(int) bool { return false }
func (*CPUSet) Count() int     { return 0 }

func ClockGetres(int32, *unix.Timespec) error                         { return errors.ErrUnsupported }
func ClockNanosleep(int32, int, *unix.Timespec, *unix.Timespec) error { return errors.ErrUnsupported }
func Dup3(int, int, int) error                                        { return errors.ErrUnsupported }
func Fadvise(int, int64, int64, int) error                            { return errors.ErrUnsupported }
func Fallocate(int, uint32, int64, int64) error                       { return errors.ErrUnsupported }
func Fdatasync(int) error                                             { return errors.ErrUnsupported }
func Gettid() int                                                     { return 0 }
func IoctlLoopConfigure(int, *LoopConfig) error                       { return errors.ErrUnsupported }
func IoctlRetInt(int, uint) (int, error)                              { return 0, errors.ErrUnsupported }
func MemfdCreate(string, int) (int, error)                            { return 0, errors.ErrUnsupported }
func Mount(string, string, string, uintptr, string) error             { return errors.ErrUnsupported }
func PerfEventOpen(*PerfEventAttr, int, int, int, int) (int, error)   { return 0, errors.ErrUnsupported }
func PidfdOpen(int, int) (int, error)                                 { return 0, errors.ErrUnsupported }
func PidfdSendSignal(int, unix.Signal, *struct{}, int) error          { return errors.ErrUnsupported }
func Prctl(int, uintptr, uintptr, uintptr, uintptr) error             { return errors.ErrUnsupported }
func SchedGetaffinity(int, *CPUSet) error                             { return errors.ErrUnsupported }
func SchedSetaffinity(int, *CPUSet) error                             { return errors.ErrUnsupported }
func SyncFileRange(int, int64, int64, int) error                      { return errors.ErrUnsupported }
func Syncfs(int) error                                                { return errors.ErrUnsupported }
func Unshare(int) error                                               { return errors.ErrUnsupported }
func Waitid(int, int, *struct{}, int, *unix.Rusage) error             { return errors.ErrUnsupported }
func DieWithParent(*syscall.SysProcAttr, syscall.Signal)              {}
func DetachedMount(string) (*os.File, error)                          { return nil, errors.ErrUnsupported }
func StatCached(string, *unix.Stat_t) error                           { return errors.ErrUnsupported }

// Timer is none.
type Timer struct{}

// NewTimer returns none.
func NewTimer() *Timer { return nil }

// Wait fails.
func (*Timer) Wait(time.Duration) error { return errors.ErrUnsupported }

// Close does nothing.
func (*Timer) Close() error { return nil }

// SleepExactly fails.
func SleepExactly(bool) error { return errors.ErrUnsupported }
