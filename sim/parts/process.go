package parts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// leash is the shell program that every part starts in. The background reader holds the pipe from the parent as fd 3;
// when the pipe ends, it kills the whole process group (kill 0), itself included. The part replaces the shell, so that
// the process id that Start reports is the part's.
const leash = `exec 3<&0; (trap '' INT TERM HUP; read -r _ <&3; kill -KILL 0) & exec "$@" 3<&- </dev/null`

// Command says what a Process runs.
type Command struct {
	Name string   // of the part in errors and of its log file
	Path string   // of the program
	Args []string // without the program's own name
	Env  []string // added to the test's environment
	Dir  string   // the part's folder: it must exist; NAME.log is written (appended) in it
}

// Process is a running program on a leash. Its methods may be called at any time from any goroutine.
type Process struct {
	name   string
	log    string
	cmd    *exec.Cmd
	tether io.Closer     // our end of the leash
	killed atomic.Bool   // Kill was called before the program had ended
	done   chan struct{} // closed when the program has ended
	state  *os.ProcessState
}

// Start runs the command. The caller ends it by Kill or Stop; if it does not, the end of this process does.
func Start(command Command) (*Process, error) {
	p := &Process{name: command.Name, log: filepath.Join(command.Dir, command.Name+".log"), done: make(chan struct{})}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", command.Name, err)
	}
	defer log.Close() // the child has its own descriptor

	p.cmd = exec.Command("/bin/sh", append([]string{"-c", leash, "leash", command.Path}, command.Args...)...)
	p.cmd.Env = append(os.Environ(), command.Env...)
	p.cmd.Dir = command.Dir
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.run(); err != nil {
		return nil, fmt.Errorf("start %s: %w", command.Name, err)
	}
	return p, nil
}

// run starts the command with the leash as its standard input and waits for its end in the background.
func (p *Process) run() error {
	theirs, ours, err := os.Pipe()
	if err != nil {
		return err
	}
	defer theirs.Close()
	p.cmd.Stdin, p.tether = theirs, ours
	if err := p.cmd.Start(); err != nil {
		return errors.Join(err, ours.Close())
	}
	go p.reap()
	return nil
}

// reap waits for the program's end and then lets go of the leash, which ends what is left of the group.
func (p *Process) reap() {
	p.cmd.Wait() // its error is in the state
	p.state = p.cmd.ProcessState
	p.tether.Close()
	close(p.done)
}

// PID is the program's process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the program has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Running says whether the program has not ended.
func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// ExitCode waits for the program's end: its exit code, or -1 if a signal ended it.
func (p *Process) ExitCode(ctx context.Context) (int, error) {
	select {
	case <-p.done:
		return p.state.ExitCode(), nil
	case <-ctx.Done():
		return 0, fmt.Errorf("wait for %s: %w", p.name, ctx.Err())
	}
}

// Kill ends the program and its children with SIGKILL and returns when the program is gone.
func (p *Process) Kill() {
	if p.Running() {
		p.killed.Store(true)
		syscall.Kill(-p.PID(), syscall.SIGKILL) // an error means that it is gone already
	}
	<-p.done
}

// Pause stops the program with SIGSTOP until Resume: its sockets stay open and silent.
func (p *Process) Pause() error { return p.Signal(syscall.SIGSTOP) }

// Resume lets a paused program go on.
func (p *Process) Resume() error { return p.Signal(syscall.SIGCONT) }

// Signal sends one to the program alone.
func (p *Process) Signal(signal syscall.Signal) error {
	if !p.Running() {
		return fmt.Errorf("signal %s: %w", p.name, os.ErrProcessDone)
	}
	return p.cmd.Process.Signal(signal)
}

// Stop asks the program to end with SIGTERM; if it has not when ctx ends, it is killed and an error says so. Any other end than
// with code 0 is an error too, unless Kill ended the program before: it has stopped uncleanly, or it failed while nobody looked.
func (p *Process) Stop(ctx context.Context) error {
	if p.Running() {
		p.cmd.Process.Signal(syscall.SIGTERM) // an error means that it is gone already
	}
	select {
	case <-p.done:
		return p.unclean()
	case <-ctx.Done():
		p.Kill()
		return fmt.Errorf("stop %s: it had to be killed: %w", p.name, ctx.Err())
	}
}

// unclean says how a program ended that neither ended with code 0 nor was killed by us.
func (p *Process) unclean() error {
	if p.state.Success() || p.killed.Load() {
		return nil
	}
	return fmt.Errorf("stop %s: it ended with %s; its log ends: %s", p.name, p.state, p.Log(2000))
}

// Log is the newest part of what the program wrote, at most maxBytes, for messages about its failure.
func (p *Process) Log(maxBytes int64) string { return tail(p.log, maxBytes) }

func tail(path string, maxBytes int64) string {
	f, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > maxBytes {
		f.Seek(-maxBytes, io.SeekEnd)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxBytes))
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text))
}

// until calls ready every step until it returns nil. It gives up when ctx ends or p has ended, and then says ready's
// last error with the end of p's log.
func (p *Process) until(ctx context.Context, step time.Duration, ready func(context.Context) error) error {
	ticker := time.NewTicker(step)
	defer ticker.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w (%w); its log ends: %s", p.name, err, ctx.Err(), p.Log(2000))
		case <-p.done:
			return fmt.Errorf("%s ended (%s): %w; its log ends: %s", p.name, p.state, err, p.Log(2000))
		}
	}
}
