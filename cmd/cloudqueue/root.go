package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cloudqueue/router/admin"
	"cloudqueue/router/site"
)

// app is one call of the program: its streams, what it is made of, and the global flags.
type app struct {
	in    io.Reader
	out   io.Writer
	errs  io.Writer
	parts parts

	configPath string
	socket     string
	output     string
	timeout    time.Duration

	given givenFlags
}

// run executes one command line and gives the exit code.
func run(ctx context.Context, a *app, args []string) int {
	root := a.rootCommand()
	root.SetArgs(args)
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.errs)
	return a.report(root.ExecuteContext(ctx))
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "cloudqueue",
		Short: "Carry AMQP messages between sites: in order, durably, through any fault",
		Long: `Cloudqueue is one router per site, beside the site's own AMQP broker. Services publish to their broker as they
always did; what a route of the topology marks for other sites is stored durably, carried to their routers, and
published there with confirms.

` + exitCodes,
		Example: `  cloudqueue demo                         three sites in this terminal, with faults
  cloudqueue doctor                       is everything there that the router needs?
  cloudqueue status --watch               what is going on, and what to type`,
		SilenceUsage:      true,
		SilenceErrors:     true,
		Args:              noArgs,
		RunE:              help,
		PersistentPreRunE: func(c *cobra.Command, _ []string) error { return a.checkFlags(c) },
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return usage(c, err) })
	flags := root.PersistentFlags()
	flags.StringVarP(&a.configPath, "config", "c", defaultConfig(), "the router's file (or $CLOUDQUEUE_CONFIG)")
	flags.StringVar(&a.socket, "socket", "",
		"the router's admin socket (default: admin.sock in the data-dir of --config)")
	flags.StringVarP(&a.output, "output", "o", "table", "table, json or yaml")
	complete(root, "output", "table", "json", "yaml")
	flags.DurationVar(&a.timeout, "timeout", 30*time.Second, "how long to wait for an answer")
	root.AddCommand(a.routerCommand(), a.doctorCommand(), a.demoCommand(), a.topologyCommand(), a.statusCommand(),
		a.parkingCommand(), a.spoolCommand(), a.booksCommand(), a.pkiCommand(), a.versionCommand())
	root.SetHelpCommand(helpCommand(root))
	return root
}

// helpCommand shows the help of the command that it is given; one that there is not is refused as if it had been typed.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND...]",
		Short: "Show the help of a command",
		RunE: func(_ *cobra.Command, given []string) error {
			c, rest, err := root.Find(given)
			if err != nil || len(rest) > 0 {
				return noArgs(c, rest)
			}
			c.InitDefaultHelpFlag()
			return c.Help()
		},
	}
}

// complete offers a flag's values in the shell.
func complete(c *cobra.Command, flag string, values ...string) {
	if err := c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values,
		cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the command has no such flag
	}
}

func defaultConfig() string {
	if path := os.Getenv("CLOUDQUEUE_CONFIG"); path != "" {
		return path
	}
	return site.DefaultConfigPath
}

func (a *app) checkFlags(c *cobra.Command) error {
	if c.Flags().Changed("config") {
		a.given.config = a.configPath
	}
	a.given.socket = a.socket
	switch a.output {
	case "table", "json", "yaml":
	default:
		return fail(exitUsage, "write -o table, -o json or -o yaml", "%q is not a form of output", a.output)
	}
	if a.timeout <= 0 {
		return fail(exitUsage, "write for example --timeout 30s", "the timeout %v is not positive", a.timeout)
	}
	return nil
}

// group is a command that only holds others.
func group(use, short, example string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Example: example, Args: noArgs, RunE: help}
	c.AddCommand(commands...)
	return c
}

func help(c *cobra.Command, _ []string) error { return c.Help() }

// noArgs refuses arguments; of a mistyped command it names the nearest one.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !c.HasSubCommands() {
		return usage(c, fmt.Errorf("%s takes no arguments, there is %q", c.CommandPath(), args[0]))
	}
	c.SuggestionsMinimumDistance = 2 // letters; without it there are no suggestions
	err := fmt.Errorf("unknown command %q for %s", args[0], c.CommandPath())
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		err = fmt.Errorf("%w; is it %s?", err, strings.Join(near, " or "))
	}
	return usage(c, err)
}

// args wants between least and most arguments; most below 0 is any number.
func args(least, most int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, given []string) error {
		switch {
		case len(given) < least:
			return usage(c, fmt.Errorf("%s is missing", what))
		case most >= 0 && len(given) > most:
			return usage(c, fmt.Errorf("%q is one argument too many", given[most]))
		}
		return nil
	}
}

func usage(c *cobra.Command, err error) error {
	return &failure{exitUsage, err, "see `" + c.CommandPath() + " --help`"}
}

// router gives a client of the local router.
func (a *app) router() (*admin.Client, error) {
	if a.socket != "" {
		return admin.NewClient(a.socket), nil
	}
	config, err := site.ReadConfig(a.configPath)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fail(exitUsage, "name the router's file with --config, or its socket with --socket", "%w", err)
	}
	if err != nil {
		return nil, err
	}
	return admin.NewClient(config.AdminSocket()), nil
}

// ask calls the local router within the timeout.
func ask[Answer any](
	ctx context.Context, a *app, call func(context.Context, *admin.Client) (Answer, error),
) (Answer, error) {
	client, err := a.router()
	if err != nil {
		var none Answer
		return none, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	answer, err := call(ctx, client)
	return answer, a.unanswered(err)
}
