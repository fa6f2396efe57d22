package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"

	"assay/internal/execution/agents"
)

// tokenVariable has the token of agents that join by themselves: no process list shows it.
const tokenVariable = "ASSAY_TOKEN"

// sshVariable has another command than ssh, with options, as GIT_SSH_COMMAND of Git.
const sshVariable = "ASSAY_SSH"

// The commands of docker and of kubectl, as that of ssh, and the image of agents in containers and pods.
const (
	dockerVariable  = "ASSAY_DOCKER"
	kubectlVariable = "ASSAY_KUBECTL"
	imageVariable   = "ASSAY_IMAGE"
)

func agentCommand() *cobra.Command {
	var join string
	var idle time.Duration
	var invited, allowRemote, once, guard, manifest bool
	job := agents.Job{}
	c := &cobra.Command{
		Use:   "agent",
		Short: "Do a run's phases on this machine, for a conductor on another",
		Long: `Joins a run of another machine (assay run --agents …) and does its measured phases
here: makes its threads' operations from seeds, starts workers of this binary, begins
when the conductor says, and tells what was counted.

assay run starts agents itself for local:N, ssh://HOST, docker:N and kube://NAME:N. By
hand an agent is started with --join, and the run counts on it with join:N. --manifest
prints an indexed Job for Kubernetes, each pod of which is an agent.

It takes orders only from who has its token, runs no program but this one, and loads
only servers on its own loopback unless --allow-remote is given. When it does not hear
of its conductor for 10 s, it ends its workers.`,
		Example: `  ASSAY_TOKEN=… assay agent --join nats://10.0.0.5:4222 --allow-remote
  assay agent --join nats://TOKEN@10.0.0.5:4222
  assay agent --manifest --pods 4 --image registry.example/assay:1.2 > agents.yaml`,
		Args: takes(0, 0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			o := agents.AgentOptions{Version: version(), AllowRemote: allowRemote, Once: once, Idle: idle, Log: os.Stderr}
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
			case manifest:
				job.AllowRemote, job.Idle, job.Image = allowRemote, idle, cmp.Or(job.Image, os.Getenv(imageVariable), agents.DefaultImage)
				text, err := job.Manifest()
				if err != nil {
					return usage(err)
				}
				_, err = io.WriteString(c.OutOrStdout(), text)
				return failed(err)
			case guard:
				return failed(agents.Guard(os.Stdin, os.Stderr))
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
	c.Flags().DurationVar(&idle, "idle", 0, "end when no run was heard of for so long, as 10m (default: never)")
	c.Flags().BoolVar(&invited, "invited", false, "read where to join from standard input, as assay run does; its end is the agent's")
	c.Flags().BoolVar(&manifest, "manifest", false, "print an indexed Job for Kubernetes, each pod of which is an agent")
	c.Flags().IntVar(&job.Count, "pods", 1, "with --manifest: how many agents")
	c.Flags().StringVar(&job.Name, "name", "assay-agents", "with --manifest: `name` of the Job, and of the Secret with the token")
	c.Flags().StringVar(&job.Namespace, "namespace", "", "with --manifest: `namespace` of both (default: kubectl's own)")
	c.Flags().StringVar(&job.Image, "image", "", "with --manifest: container `image` with this version of Assay (default: "+agents.DefaultImage+", or "+imageVariable+")")
	c.Flags().BoolVar(&guard, "guard", false, "end an agent's workers while it is stopped, as an agent asks a process of its own to")
	must(c.Flags().MarkHidden("invited"))
	must(c.Flags().MarkHidden("guard"))
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
