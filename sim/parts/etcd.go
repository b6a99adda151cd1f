package parts

import (
	"context"
	"fmt"
	"net/http"
	"os"
)

// EtcdCommand is the program that NewEtcd runs; Build makes it.
const EtcdCommand = "cloudqueue/sim/parts/etcd"

// Etcd is a cluster of one member.
type Etcd struct {
	*Program
	url string
}

// NewEtcd describes a member with its data in dir, which is made if missing; Start starts it. binary is what Build made
// of EtcdCommand.
func NewEtcd(binary, dir string) (*Etcd, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	ports, err := freePorts(2)
	if err != nil {
		return nil, err
	}
	e := &Etcd{url: fmt.Sprintf("http://127.0.0.1:%d", ports[0])}
	args := []string{"-dir", dir, "-client", fmt.Sprint(ports[0]), "-peer", fmt.Sprint(ports[1])}
	e.Program = NewProgram(Command{Name: "etcd", Path: binary, Args: args, Dir: dir}, e.healthy)
	return e, nil
}

// URL is where clients connect.
func (e *Etcd) URL() string { return e.url }

// healthy asks the member whether it has a leader and can commit.
func (e *Etcd) healthy(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, e.url+"/health", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("health: %s", response.Status)
	}
	return nil
}
