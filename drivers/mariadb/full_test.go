package mariadb

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"golang.org/x/sys/unix"
)

// Where a file can't grow, InnoDB's message says that a table is full.
//
// Fault (disk): a server has its own words for a full disk (MariaDB, NATS)
// Assay: the drivers add the kernel's words, by which a full disk is known
// With: nats.TestFullDiskIsCalledThat
func TestTold_full_disk(t *testing.T) {
	for number, full := range map[uint16]bool{1114: true, 1021: true, 1062: false, 1054: false} {
		err := told(&mysql.MySQLError{Number: number, Message: "The table 'records' is full"})
		if errors.Is(err, unix.ENOSPC) != full || strings.Contains(err.Error(), "no space left") != full {
			t.Errorf("error %d: %v", number, err)
		}
	}
}
