package parts

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// The ports that parts listen on: below the kernel's range of local ports (32768 and up on Linux). Inside that range a
// dial to a part that is down may be given the part's own port as its local one, and then connects to itself; or some
// other connection takes it while the part is being restarted.
const (
	firstPort = 10_000
	lastPort  = 32_000
)

// FreePort finds a port on 127.0.0.1 that is free for TCP and UDP, and keeps it for this process until it ends: no other
// process of this user, and no other call, is given it, though the part listens later, or again after a kill. Who takes
// ports of this range by other means is not kept away; they are drawn at random from 22,000.
func FreePort() (int, error) {
	if err := os.MkdirAll(claims(), 0o700); err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	for range 100 {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		release, err := claim(port)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("find a free port: %w", err)
		}
		if free(port) {
			return port, nil
		}
		if err := release(); err != nil {
			return 0, err
		}
	}
	return 0, errors.New("find a free port: 100 of them were taken")
}

// claims is the folder with an empty file for each port that was ever given; who holds its lock has the port. It is not in
// TMPDIR: processes that have temporary folders of their own share the ports all the same.
func claims() string { return fmt.Sprintf("/tmp/cloudqueue-ports-%d", os.Getuid()) }

// claim locks the file of a port. The kernel releases it with the process; a child does not inherit it. EWOULDBLOCK: it is
// somebody's.
func claim(port int) (release func() error, err error) {
	fd, err := syscall.Open(filepath.Join(claims(), strconv.Itoa(port)), syscall.O_RDWR|syscall.O_CREAT|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, syscall.Close(fd))
	}
	return func() error { return syscall.Close(fd) }, nil
}

func free(port int) bool {
	address := fmt.Sprintf("127.0.0.1:%d", port)
	tcp, err := net.Listen("tcp", address)
	if err != nil {
		return false
	}
	defer tcp.Close()
	udp, err := net.ListenPacket("udp", address)
	if err != nil {
		return false
	}
	udp.Close()
	return true
}

// freePorts finds n free ports.
func freePorts(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		var err error
		if ports[i], err = FreePort(); err != nil {
			return nil, err
		}
	}
	return ports, nil
}
