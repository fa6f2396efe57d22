package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assay/internal/base/bounded"
	"assay/internal/base/secret"
	"assay/internal/execution/agents"
)

// The secrets of agents that join by themselves and of the run that waits for them: variables or files,
// since the list of processes shows a command line to everybody.
const (
	tokenVariable = "ASSAY_TOKEN" // the token
	natsVariable  = "ASSAY_NATS"  // the NATS server's address, with a login where that asks for one
	fileSuffix    = "_FILE"       // of a variable that names a file with either
)

// sshVariable has another command than ssh, with options, as GIT_SSH_COMMAND of Git.
const sshVariable = "ASSAY_SSH"

// The command of docker, as that of ssh, and the image of agents in containers.
const (
	dockerVariable = "ASSAY_DOCKER"
	imageVariable  = "ASSAY_IMAGE"
)

func agentCommand() *cobra.Command {
	var join string
	var allow []string
	var idle time.Duration
	var invited, allowRemote, once, guard bool
	c := &cobra.Command{
		Use:   "agent",
		Short: "Do a run's phases on this machine, for a conductor on another",
		Long: `Joins a run of another machine (assay run --agents …) and does its measured phases
here: makes its threads' operations from seeds, starts workers of this binary, begins
when the conductor says, and tells what was counted.

assay run starts agents itself for local:N, ssh://HOST and docker:N. By hand, or in a
pod, an agent is started with --join, and the run counts on it with join:N.

The token comes from ASSAY_TOKEN, or from the first line of the file that
ASSAY_TOKEN_FILE names. Where the NATS server asks for a login, its address comes
from ASSAY_NATS or ASSAY_NATS_FILE in the same way, as nats://USER:PASSWORD@HOST:PORT,
and --join is left out: everybody on a machine can read command lines.

It takes orders only from who has its token, runs no program but this one, and loads
only servers on its own loopback unless --allow-remote is given. Options that name a
file, a variable, a user or a host of this machine are refused unless --allow names
them. When it does not hear of its conductor for 10 s, it ends its workers.`,
		Example: `  ASSAY_TOKEN=… assay agent --join nats://10.0.0.5:4222 --allow-remote
  ASSAY_TOKEN_FILE=/run/secrets/token ASSAY_NATS_FILE=/run/secrets/nats assay agent`,
		Args: takes(0, 0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			o := agents.AgentOptions{Version: version(), AllowRemote: allowRemote, Once: once, Idle: idle,
				Log: secret.Log{W: os.Stderr}}
			self, err := os.Executable()
			if err != nil {
				return failed(fmt.Errorf("finding Assay's own program, to start workers with: %w", err))
			}
			o.Worker, o.Guard = []string{self, "worker"}, []string{self, "agent", "--guard"}
			ctx, stop := interruptible("its workers are ended", func(text string) { fmt.Fprintln(os.Stderr, "assay agent:", text) })
			defer stop()
			switch {
			case idle < 0:
				return usage(fmt.Errorf("--idle %s: expected a time above 0, as 10m", idle))
			case guard:
				return failed(agents.Guard(os.Stdin, os.Stderr))
			case invited:
				return failed(agents.ServeInvited(ctx, os.Stdin, o))
			}
			o.Consents = consentTo(allow) // who starts an agent by a run gives it what the run has
			switch o.Server, o.Token, err = natsAddress("join", join); {
			case err != nil:
				return usage(err)
			case o.Server == "":
				return usage(errors.New("assay agent takes --join nats://HOST:PORT, or the address in " + natsVariable + "\nassay agent --help shows examples"))
			case o.Token == "":
				return usage(fmt.Errorf("--join: there is no token\nset %s, or %s to a file that holds it", tokenVariable, tokenVariable+fileSuffix))
			}
			return failed(agents.Serve(ctx, o))
		},
	}
	c.Flags().StringVar(&join, "join", "", "NATS server that the conductor uses: nats://HOST:PORT (default: that of "+natsVariable+"); a login stands in "+natsVariable+" alone")
	c.Flags().BoolVar(&allowRemote, "allow-remote", false, "load the servers that a run names even where they are not on this machine's loopback")
	c.Flags().StringSliceVar(&allow, "allow", nil, "`options` of stores that a conductor may give though they name a file, a variable, a user or a host of this machine, as credentials_file")
	c.Flags().BoolVar(&once, "once", false, "end with the first run")
	c.Flags().DurationVar(&idle, "idle", 0, "end after so long without a run, as 10m (default: never)")
	c.Flags().BoolVar(&invited, "invited", false, "read where to join from standard input, as assay run does; its end is the agent's")
	c.Flags().BoolVar(&guard, "guard", false, "end an agent's workers while it is stopped, as an agent asks a process of its own to")
	must(c.Flags().MarkHidden("invited"))
	must(c.Flags().MarkHidden("guard"))
	must(c.RegisterFlagCompletionFunc("join", cobra.NoFileCompletions))
	return c
}

// natsAddress is the NATS server's address, of a flag or of the environment, and the token; "": there is none.
func natsAddress(flag, given string) (server string, token agents.Token, err error) {
	secretly, err := secretOf(tokenVariable)
	if err != nil {
		return "", "", err
	}
	from := "--" + flag
	if given == "" {
		from = natsVariable
		if given, err = secretOf(natsVariable); err != nil {
			return "", "", err
		}
	}
	if given != "" {
		u, err := url.Parse(given)
		switch {
		case err != nil || u.Scheme != "nats" && u.Scheme != "tls" || u.Host == "":
			return "", "", fmt.Errorf("%s: expected nats://HOST:PORT", from)
		case u.User != nil && from != natsVariable:
			return "", "", fmt.Errorf("%s has a login, which the list of processes shows to everybody\n"+
				"set %s to this address instead, or %s to a file that holds it; an agent's token stands in %s", from, natsVariable, natsVariable+fileSuffix, tokenVariable)
		}
	}
	if token = agents.Token(secretly); token != "" {
		err = token.Check()
	}
	return given, token, err
}

// secretOf is what a variable holds, or the first line of the file that the variable with fileSuffix names.
func secretOf(variable string) (string, error) {
	file := os.Getenv(variable + fileSuffix)
	switch text := os.Getenv(variable); {
	case text != "" && file != "":
		return "", fmt.Errorf("%s and %s are both set: expected one of them", variable, variable+fileSuffix)
	case file == "":
		return strings.TrimRight(text, "\r\n"), nil // a secret that was made of a file may end so
	}
	line, err := bounded.Line(file)
	if err != nil {
		return "", fmt.Errorf("%s: %w", variable+fileSuffix, err)
	}
	return line, nil
}
