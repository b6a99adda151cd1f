package parts

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Program is a part that can be ended and started again on the data in its folder: a router, an etcd.
// Its methods are for one goroutine at a time.
type Program struct {
	command Command
	ready   func(context.Context) error
	process *Process
}

// NewProgram describes a program; Start starts it. ready returns nil when the program does what it is for; nil means at once.
func NewProgram(command Command, ready func(context.Context) error) *Program {
	if ready == nil {
		ready = func(context.Context) error { return nil }
	}
	return &Program{command: command, ready: ready}
}

// Start starts the program, which must not run, and returns when it is ready. Within 60 s it is, or the error says what
// its log says.
func (p *Program) Start(ctx context.Context) error {
	process, err := Start(p.command)
	if err != nil {
		return err
	}
	p.process = process
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return process.until(ctx, 50*time.Millisecond, p.ready)
}

// Process is the running program; a restart replaces it.
func (p *Program) Process() *Process { return p.process }

// Kill ends the program with SIGKILL.
func (p *Program) Kill() {
	if p.process != nil {
		p.process.Kill()
	}
}

// Stop ends the program with SIGTERM, cleanly within ctx.
func (p *Program) Stop(ctx context.Context) error {
	if p.process == nil {
		return nil
	}
	return p.process.Stop(ctx)
}

// Build compiles a command of this module, such as cloudqueue/cmd/cloudqueue, into dir: the binary's path.
func Build(ctx context.Context, dir, importPath string) (string, error) {
	binary := filepath.Join(dir, filepath.Base(importPath))
	out, err := exec.CommandContext(ctx, "go", "build", "-o", binary, importPath).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build %s: %w: %s", importPath, err, out)
	}
	return binary, nil
}

// Run runs a command of a binary to its end: what it wrote to standard output. An error carries what it wrote to standard error.
func Run(ctx context.Context, command Command) (string, error) {
	cmd := exec.CommandContext(ctx, command.Path, command.Args...)
	cmd.Env = append(os.Environ(), command.Env...)
	cmd.Dir = command.Dir
	out, err := cmd.Output()
	if exit, ok := err.(*exec.ExitError); ok {
		return string(out), fmt.Errorf("%s %v: %w: %s", filepath.Base(command.Path), command.Args, err, exit.Stderr)
	}
	return string(out), err
}
