package parts

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// The ports that parts listen on: below the kernel's range of local ports (32768 and up on Linux). Inside that range a
// dial to a part that is down may be given the part's own port as its local one, and then connects to itself; or some
// other connection takes it while the part is being restarted.
const (
	firstPort = 10_000
	lastPort  = 32_000
)

// FreePort finds a port on 127.0.0.1 that is free for TCP and UDP. It does not hold it: a part that starts at once has
// it in practice, as ports are drawn at random from 22,000.
func FreePort() (int, error) {
	for range 100 {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		if free(port) {
			return port, nil
		}
	}
	return 0, errors.New("find a free port: 100 of them were taken")
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

// freePorts finds n different free ports.
func freePorts(n int) ([]int, error) {
	var ports []int
	taken := map[int]bool{}
	for len(ports) < n {
		port, err := FreePort()
		if err != nil {
			return nil, err
		}
		if !taken[port] {
			taken[port] = true
			ports = append(ports, port)
		}
	}
	return ports, nil
}
