// Command with runs a command with real RabbitMQ nodes that live exactly as long as the command does.
//
//	with [-nodes 2] -- COMMAND ARGS...
//
// The nodes' URLs are in the command's environment: CLOUDQUEUE_TEST_AMQP, CLOUDQUEUE_TEST_AMQP_2 … The first node has the
// management plugin; CLOUDQUEUE_TEST_MANAGEMENT is the port of its HTTP API.
// Its exit status is the command's. SIGINT and SIGTERM end the command first, then the nodes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"cloudqueue/sim/parts"
)

func main() {
	nodes := flag.Int("nodes", 1, "how many RabbitMQ nodes to start, each a cluster of its own")
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	status, err := run(ctx, *nodes, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "with:", err)
	}
	os.Exit(status)
}

// run starts the nodes in a temporary folder, runs the command, and takes everything away.
func run(ctx context.Context, nodes int, command []string) (status int, err error) {
	dir, err := os.MkdirTemp("", "cloudqueue-brokers.")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	environment := os.Environ()
	for i := range nodes {
		name := fmt.Sprintf("with%d", i+1)
		node, err := parts.StartRabbitMQ(ctx, parts.RabbitMQConfig{Name: name, Dir: filepath.Join(dir, name), Plugins: plugins(i)})
		if err != nil {
			return 1, err
		}
		defer node.Close()
		environment = append(environment, variable(i)+"="+node.URL())
		if i == 0 {
			environment = append(environment, fmt.Sprintf("CLOUDQUEUE_TEST_MANAGEMENT=%d", node.ManagementPort()))
		}
	}
	return runCommand(ctx, environment, command)
}

// plugins of node i: the client's own tests look connections up and drop them over the management API of the first.
func plugins(i int) []string {
	if i == 0 {
		return []string{"rabbitmq_management"}
	}
	return nil
}

// variable names the environment variable of node i.
func variable(i int) string {
	if i == 0 {
		return "CLOUDQUEUE_TEST_AMQP"
	}
	return fmt.Sprintf("CLOUDQUEUE_TEST_AMQP_%d", i+1)
}

// patience is what the command has for its own clean-up after SIGTERM.
const patience = 20 * time.Second

// runCommand returns the command's exit status. The command runs in a process group of its own: when ctx ends, all of
// the group gets SIGTERM, and SIGKILL if the command has not ended in time.
func runCommand(ctx context.Context, environment, command []string) (int, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = environment
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	signalGroup := func(s syscall.Signal) { syscall.Kill(-cmd.Process.Pid, s) } // an error means that it is gone
	defer context.AfterFunc(ctx, func() {
		signalGroup(syscall.SIGTERM)
		time.AfterFunc(patience, func() { signalGroup(syscall.SIGKILL) })
	})()
	return status(cmd.Wait())
}

// status is the exit status that a command's end stands for.
func status(err error) (int, error) {
	if exit := new(exec.ExitError); errors.As(err, &exit) && exit.ExitCode() > 0 {
		return exit.ExitCode(), nil
	}
	if err != nil {
		return 1, err
	}
	return 0, nil
}
