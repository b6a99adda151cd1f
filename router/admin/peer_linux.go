package admin

import (
	"net"
	"os/user"
	"strconv"
	"syscall"
)

// peerUser names the user of the process at the other end (SO_PEERCRED, unix(7)); empty when the kernel does not say.
func peerUser(conn net.Conn) string {
	unix, ok := conn.(*net.UnixConn)
	if !ok {
		return ""
	}
	raw, err := unix.SyscallConn()
	if err != nil {
		return ""
	}
	var credentials *syscall.Ucred
	err = raw.Control(func(fd uintptr) {
		credentials, _ = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err != nil || credentials == nil {
		return ""
	}
	uid := strconv.Itoa(int(credentials.Uid))
	if u, err := user.LookupId(uid); err == nil {
		return u.Username
	}
	return "uid " + uid
}
