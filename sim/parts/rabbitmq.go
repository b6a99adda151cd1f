package parts

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// rabbitmqBin holds the scripts of Debian's package. Its /usr/sbin/rabbitmq-server changes to the user rabbitmq and the
// machine's own node; these run as whoever starts them, where the environment says.
const rabbitmqBin = "/usr/lib/rabbitmq/bin"

// bootTime bounds a node's start: 3–5 s on an idle machine with 2 cores, 20 s beside other work.
const bootTime = 90 * time.Second

// management is the plugin with RabbitMQ's HTTP API.
const management = "rabbitmq_management"

// RabbitMQConfig describes a node.
type RabbitMQConfig struct {
	Name    string   // of the node, before the @: unique among the nodes of a test
	Dir     string   // for its data, logs, home; made if missing; data in it is used again
	Plugins []string // rabbitmq_shovel, rabbitmq_federation …; none by default
}

// RabbitMQ is a node of its own: own ports, own epmd, own cookie, own folder. It is a cluster of one.
// Its methods are for one goroutine at a time.
type RabbitMQ struct {
	config                           RabbitMQConfig
	port, epmdPort, distributionPort int
	managementPort                   int // of the plugin rabbitmq_management, if it is one of the config's
	epmd, server                     *Process
}

// StartRabbitMQ makes a node, starts it, and returns when it takes connections.
func StartRabbitMQ(ctx context.Context, config RabbitMQConfig) (*RabbitMQ, error) {
	ports, err := freePorts(4)
	if err != nil {
		return nil, err
	}
	r := &RabbitMQ{config: config, port: ports[0], epmdPort: ports[1], distributionPort: ports[2], managementPort: ports[3]}
	if err := r.configure(); err != nil {
		return nil, fmt.Errorf("configure rabbitmq %s: %w", config.Name, err)
	}
	// The node would start an epmd itself that outlives it; this one is on a leash.
	r.epmd, err = Start(Command{Name: "epmd", Path: "epmd", Args: []string{"-address", "127.0.0.1", "-port", fmt.Sprint(r.epmdPort)}, Dir: config.Dir})
	if err != nil {
		return nil, err
	}
	if err := r.epmd.until(ctx, 10*time.Millisecond, r.epmdAnswers); err != nil {
		r.Close()
		return nil, err
	}
	if err := r.Start(ctx); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// configure writes the node's folder.
func (r *RabbitMQ) configure() error {
	if err := os.MkdirAll(r.config.Dir, 0o700); err != nil {
		return err
	}
	conf := fmt.Sprintf("listeners.tcp.1 = 127.0.0.1:%d\nlog.file.level = warning\nlog.console = false\n", r.port)
	if slices.Contains(r.config.Plugins, management) {
		conf += fmt.Sprintf("management.tcp.ip = 127.0.0.1\nmanagement.tcp.port = %d\n", r.managementPort)
	}
	if err := os.WriteFile(r.path("rabbitmq.conf"), []byte(conf), 0o600); err != nil {
		return err
	}
	plugins := "[" + strings.Join(r.config.Plugins, ",") + "].\n"
	return os.WriteFile(r.path("plugins"), []byte(plugins), 0o600)
}

func (r *RabbitMQ) path(name string) string { return filepath.Join(r.config.Dir, name) }

// environment is what server and rabbitmqctl of this node share. RUNNING_UNDER_SYSTEMD makes the script replace itself
// with the Erlang machine instead of watching over it, so that the process on the leash is the node itself.
// +sbwt none: idle schedulers sleep instead of spinning, on machines that several parts share.
func (r *RabbitMQ) environment() []string {
	return []string{
		"HOME=" + r.config.Dir,
		"RABBITMQ_NODENAME=" + r.config.Name + "@localhost",
		"RABBITMQ_MNESIA_BASE=" + r.path("data"),
		"RABBITMQ_LOG_BASE=" + r.path("log"),
		"RABBITMQ_CONFIG_FILE=" + r.path("rabbitmq.conf"),
		"RABBITMQ_CONF_ENV_FILE=" + r.path("none"),
		"RABBITMQ_ENABLED_PLUGINS_FILE=" + r.path("plugins"),
		"RABBITMQ_PID_FILE=" + r.path("pid"),
		fmt.Sprintf("RABBITMQ_DIST_PORT=%d", r.distributionPort),
		fmt.Sprintf("ERL_EPMD_PORT=%d", r.epmdPort),
		"ERL_EPMD_ADDRESS=127.0.0.1",
		"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=+sbwt none +sbwtdcpu none +sbwtdio none -kernel inet_dist_use_interface {127,0,0,1}",
		"RUNNING_UNDER_SYSTEMD=true",
	}
}

// Start starts a node that was killed or stopped, on the data that it has, and returns when it takes connections.
func (r *RabbitMQ) Start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, bootTime)
	defer cancel()
	server, err := Start(Command{Name: r.config.Name, Path: filepath.Join(rabbitmqBin, "rabbitmq-server"), Env: r.environment(), Dir: r.config.Dir})
	if err != nil {
		return err
	}
	r.server = server
	return server.until(ctx, 100*time.Millisecond, r.takesConnections)
}

// takesConnections opens an AMQP connection: the listener is the last thing that a node starts.
func (r *RabbitMQ) takesConnections(ctx context.Context) error {
	conn, err := amqp.DialConfig(r.URL(), amqp.Config{Dial: amqp.DefaultDial(5 * time.Second)})
	if err != nil {
		return err
	}
	return conn.Close()
}

func (r *RabbitMQ) epmdAnswers(ctx context.Context) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", r.epmdPort))
	if err != nil {
		return err
	}
	return conn.Close()
}

// URL is where clients connect, with user and password.
func (r *RabbitMQ) URL() string { return fmt.Sprintf("amqp://guest:guest@%s/", r.Address()) }

// Address is the host and port that the node listens on.
func (r *RabbitMQ) Address() string { return fmt.Sprintf("127.0.0.1:%d", r.port) }

// ManagementPort is where the HTTP API of the plugin rabbitmq_management listens, if the config has it.
func (r *RabbitMQ) ManagementPort() int { return r.managementPort }

// Process is the node's running program; a restart replaces it.
func (r *RabbitMQ) Process() *Process { return r.server }

// Kill ends the node with SIGKILL, in the middle of what it does.
func (r *RabbitMQ) Kill() { r.server.Kill() }

// Stop ends the node cleanly.
func (r *RabbitMQ) Stop(ctx context.Context) error { return r.server.Stop(ctx) }

// Close ends the node at once, with its epmd. Its folder stays.
func (r *RabbitMQ) Close() {
	for _, p := range []*Process{r.server, r.epmd} {
		if p != nil {
			p.Kill()
		}
	}
}

// Control runs rabbitmqctl against the node: what it printed. It takes a second of CPU time.
func (r *RabbitMQ) Control(ctx context.Context, args ...string) (string, error) {
	ctl := exec.CommandContext(ctx, filepath.Join(rabbitmqBin, "rabbitmqctl"), append([]string{"-q"}, args...)...)
	ctl.Env = append(os.Environ(), r.environment()...)
	out, err := ctl.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("rabbitmqctl %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

// SetAlarm raises (or clears) the node's memory alarm: it stops reading from connections that publish.
func (r *RabbitMQ) SetAlarm(ctx context.Context, on bool) error {
	watermark := "0.4" // RabbitMQ's default share of the machine's memory
	if on {
		watermark = "0.00000001"
	}
	_, err := r.Control(ctx, "set_vm_memory_high_watermark", watermark)
	return err
}
