package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"

	"github.com/spf13/cobra"

	"assay/internal/execution/agents"
)

// tokenVariable has the token of agents that join by themselves: no process list shows it.
const tokenVariable = "ASSAY_TOKEN"

// sshVariable has another command than ssh, with options, as GIT_SSH_COMMAND of Git.
const sshVariable = "ASSAY_SSH"

func agentCommand() *cobra.Command {
	var join string
	var invited, allowRemote, once bool
	c := &cobra.Command{
		Use:   "agent",
		Short: "Do a run's phases on this machine, for a conductor on another",
		Long: `Joins a run of another machine (assay run --agents …) and does its measured phases
here: makes its threads' operations from seeds, starts workers of this binary, begins
when the conductor says, and tells what was counted.

assay run starts agents itself for local:N and ssh://HOST. By hand, in a container or
in a pod an agent is started with --join, and the run counts on it with join:N.

It takes orders only from who has its token, runs no program but this one, and loads
only servers on its own loopback unless --allow-remote is given. When it does not hear
of its conductor for 10 s, it ends its workers.`,
		Example: `  ASSAY_TOKEN=… assay agent --join nats://10.0.0.5:4222 --allow-remote
  assay agent --join nats://TOKEN@10.0.0.5:4222`,
		Args: takes(0, 0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			o := agents.AgentOptions{Version: version(), AllowRemote: allowRemote, Once: once, Log: os.Stderr}
			self, err := os.Executable()
			if err != nil {
				return failed(fmt.Errorf("finding Assay's own program, to start workers with: %w", err))
			}
			o.Worker = []string{self, "worker"}
			ctx, stop := interruptible("its workers are ended", func(text string) { fmt.Fprintln(os.Stderr, "assay agent:", text) })
			defer stop()
			switch {
			case invited:
				return failed(agents.ServeInvited(ctx, os.Stdin, o))
			case join == "":
				return usage(errors.New("assay agent takes --join nats://TOKEN@HOST:PORT\nassay agent --help shows examples"))
			}
			if o.Server, o.Token, err = natsAddress("join", join); err != nil {
				return usage(err)
			}
			return failed(agents.Serve(ctx, o))
		},
	}
	c.Flags().StringVar(&join, "join", "", "NATS server that the conductor uses: nats://[TOKEN@]HOST:PORT, the token otherwise from "+tokenVariable)
	c.Flags().BoolVar(&allowRemote, "allow-remote", false, "load the servers that a run names even where they are not on this machine's loopback")
	c.Flags().BoolVar(&once, "once", false, "end with the first run")
	c.Flags().BoolVar(&invited, "invited", false, "read where to join from standard input, as assay run does; its end is the agent's")
	must(c.Flags().MarkHidden("invited"))
	must(c.RegisterFlagCompletionFunc("join", cobra.NoFileCompletions))
	return c
}

// natsAddress takes the token out of the address that a flag gives, or out of the environment.
func natsAddress(flag, address string) (server string, token agents.Token, err error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "nats" && u.Scheme != "tls" || u.Host == "" {
		return "", "", fmt.Errorf("--%s %s: expected nats://[TOKEN@]HOST:PORT", flag, withoutUser(u, address))
	}
	token = agents.Token(os.Getenv(tokenVariable))
	if _, both := u.User.Password(); u.User != nil && !both && token == "" {
		token, u.User = agents.Token(u.User.Username()), nil
	}
	if token == "" {
		return "", "", fmt.Errorf("--%s: there is no token\nexpected nats://TOKEN@HOST:PORT, or the token in %s", flag, tokenVariable)
	}
	return u.String(), token, token.Check()
}

// withoutUser is an address as it may be shown.
func withoutUser(u *url.URL, text string) string {
	if u == nil || u.User != nil {
		return "ADDRESS"
	}
	return text
}
