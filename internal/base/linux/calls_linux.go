package linux

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Measures says if Assay can measure here.
const Measures = true

const (
	BTRFS_SUPER_MAGIC      = unix.BTRFS_SUPER_MAGIC
	EXT4_SUPER_MAGIC       = unix.EXT4_SUPER_MAGIC
	XFS_SUPER_MAGIC        = unix.XFS_SUPER_MAGIC
	AF_NETLINK             = unix.AF_NETLINK
	CLONE_NEWNS            = unix.CLONE_NEWNS
	CLOCK_BOOTTIME         = unix.CLOCK_BOOTTIME
	CLOCK_REALTIME_COARSE  = unix.CLOCK_REALTIME_COARSE
	FADV_DONTNEED          = unix.FADV_DONTNEED
	FALLOC_FL_PUNCH_HOLE   = unix.FALLOC_FL_PUNCH_HOLE
	FALLOC_FL_ZERO_RANGE   = unix.FALLOC_FL_ZERO_RANGE
	F_ADD_SEALS            = unix.F_ADD_SEALS
	F_SEAL_GROW            = unix.F_SEAL_GROW
	F_SEAL_SEAL            = unix.F_SEAL_SEAL
	F_SEAL_SHRINK          = unix.F_SEAL_SHRINK
	F_SEAL_WRITE           = unix.F_SEAL_WRITE
	LOOP_CTL_GET_FREE      = unix.LOOP_CTL_GET_FREE
	LO_FLAGS_AUTOCLEAR     = unix.LO_FLAGS_AUTOCLEAR
	MAP_POPULATE           = unix.MAP_POPULATE
	MFD_ALLOW_SEALING      = unix.MFD_ALLOW_SEALING
	MFD_CLOEXEC            = unix.MFD_CLOEXEC
	MFD_NOEXEC_SEAL        = unix.MFD_NOEXEC_SEAL
	MNT_DETACH             = unix.MNT_DETACH
	MNT_FORCE              = unix.MNT_FORCE
	MS_DIRSYNC             = unix.MS_DIRSYNC
	MS_NOATIME             = unix.MS_NOATIME
	MS_NODEV               = unix.MS_NODEV
	MS_NODIRATIME          = unix.MS_NODIRATIME
	MS_NOSUID              = unix.MS_NOSUID
	MS_PRIVATE             = unix.MS_PRIVATE
	MS_REC                 = unix.MS_REC
	MS_SYNCHRONOUS         = unix.MS_SYNCHRONOUS
	NETLINK_SOCK_DIAG      = unix.NETLINK_SOCK_DIAG
	NLMSG_ALIGNTO          = unix.NLMSG_ALIGNTO
	NLMSG_DONE             = unix.NLMSG_DONE
	NLMSG_ERROR            = unix.NLMSG_ERROR
	NLMSG_HDRLEN           = unix.NLMSG_HDRLEN
	NLM_F_DUMP             = unix.NLM_F_DUMP
	NLM_F_REQUEST          = unix.NLM_F_REQUEST
	O_DIRECT               = unix.O_DIRECT
	O_TMPFILE              = unix.O_TMPFILE
	PERF_FLAG_FD_CLOEXEC   = unix.PERF_FLAG_FD_CLOEXEC
	PERF_TYPE_TRACEPOINT   = unix.PERF_TYPE_TRACEPOINT
	PerfBitInherit         = unix.PerfBitInherit
	PR_SET_CHILD_SUBREAPER = unix.PR_SET_CHILD_SUBREAPER
	P_PID                  = unix.P_PID
	SEEK_DATA              = unix.SEEK_DATA
	SEEK_HOLE              = unix.SEEK_HOLE
	SOCK_CLOEXEC           = unix.SOCK_CLOEXEC
	SYNC_FILE_RANGE_WRITE  = unix.SYNC_FILE_RANGE_WRITE
	TIMER_ABSTIME          = unix.TIMER_ABSTIME
	UMOUNT_NOFOLLOW        = unix.UMOUNT_NOFOLLOW
)

// Types of package unix.
type (
	CPUSet          = unix.CPUSet
	LoopConfig      = unix.LoopConfig
	LoopInfo64      = unix.LoopInfo64
	PerfEventAttr   = unix.PerfEventAttr
	SockaddrNetlink = unix.SockaddrNetlink
)

var (
	ClockGetres        = unix.ClockGetres
	ClockNanosleep     = unix.ClockNanosleep
	Dup3               = unix.Dup3
	Fadvise            = unix.Fadvise
	Fallocate          = unix.Fallocate
	Fdatasync          = unix.Fdatasync
	Gettid             = unix.Gettid
	IoctlLoopConfigure = unix.IoctlLoopConfigure
	IoctlRetInt        = unix.IoctlRetInt
	MemfdCreate        = unix.MemfdCreate
	Mount              = unix.Mount
	PerfEventOpen      = unix.PerfEventOpen
	PidfdOpen          = unix.PidfdOpen
	PidfdSendSignal    = unix.PidfdSendSignal
	Prctl              = unix.Prctl
	SchedGetaffinity   = unix.SchedGetaffinity
	SchedSetaffinity   = unix.SchedSetaffinity
	SyncFileRange      = unix.SyncFileRange
	Syncfs             = unix.Syncfs
	Unshare            = unix.Unshare
	Waitid             = unix.Waitid
)

// DieWithParent has the kernel send a signal to a process that is started, once the thread that
// started it has ended.
func DieWithParent(attributes *syscall.SysProcAttr, signal syscall.Signal) {
	attributes.Pdeathsig = signal
}

// StatCached is unix.Stat by what the kernel knows, for a file system whose server (of NFS, of FUSE) may
// never answer. Only its device, inode and type are to be relied on.
func StatCached(path string, stat *unix.Stat_t) error {
	var x unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE|unix.STATX_INO, &x); err != nil {
		return err
	}
	*stat = unix.Stat_t{Dev: unix.Mkdev(x.Dev_major, x.Dev_minor), Ino: x.Ino, Mode: uint32(x.Mode)}
	return nil
}

// DetachedMount mounts a file system of a kind that needs no device outside of every mount tree, and
// returns its root. Closing that removes it, and so does the end of the process. Needs CAP_SYS_ADMIN.
func DetachedMount(kind string) (*os.File, error) {
	context, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("fsopen", err)
	}
	defer unix.Close(context)
	if err := unix.FsconfigCreate(context); err != nil {
		return nil, os.NewSyscallError("fsconfig", err)
	}
	root, err := unix.Fsmount(context, unix.FSMOUNT_CLOEXEC,
		unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOEXEC|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
	if err != nil {
		return nil, os.NewSyscallError("fsmount", err)
	}
	return os.NewFile(uintptr(root), kind), nil
}

// Timer is a timer of the kernel, for which the scheduler waits as for a socket.
type Timer struct {
	file     *os.File
	fd       int
	expiries [8]byte
}

// NewTimer returns a timer; nil: none can be had.
func NewTimer() *Timer {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil
	}
	return &Timer{file: os.NewFile(uintptr(fd), "timerfd"), fd: fd}
}

// Wait returns once d has passed. One goroutine at a time may wait.
func (t *Timer) Wait(d time.Duration) error {
	at := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	if err := unix.TimerfdSettime(t.fd, 0, &at, nil); err != nil {
		return err
	}
	_, err := t.file.Read(t.expiries[:])
	return err
}

// Close ends it.
func (t *Timer) Close() error { return t.file.Close() }

// SleepExactly has the kernel wake the calling OS thread within a microsecond of when it asked to be woken, or
// as it did before. The scheduler must not move the goroutine meanwhile.
func SleepExactly(exactly bool) error {
	slack := uintptr(0) // as the thread began
	if exactly {
		slack = 1
	}
	return unix.Prctl(unix.PR_SET_TIMERSLACK, slack, 0, 0, 0)
}
