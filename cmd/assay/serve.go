package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"assay/internal/presentation/metrics"
	"assay/internal/presentation/serve"
)

func serveCommand() *cobra.Command {
	var listen string
	c := &cobra.Command{
		Use:   "serve [DIR…]",
		Short: "Show runs in a browser, while they go on and afterwards",
		Long: `Shows the run directories in DIR, up to two folders deep, in a browser: a list; of a
run that goes on, the trial under way as it is measured; of one that has ended, its
report. It reads the directories and writes nothing.

It listens on the loopback, unless --listen names another address: whoever can
reach that sees all runs in DIR. A browser on the machine that measures takes CPU
from the stores; the run tells of it as other programs' load.`,
		Example: `  assay serve
  assay serve results --listen :8080
  ssh -L 8123:localhost:8123 load1      # and http://localhost:8123/ here`,
		ValidArgsFunction: completeDirectories,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"."}
			}
			for _, directory := range args {
				if info, err := os.Stat(directory); err != nil || !info.IsDir() {
					return usage(fmt.Errorf("%s is no directory: expected run directories, or folders of them", directory))
				}
			}
			address, err := metrics.Address(listen)
			if err != nil {
				return usage(fmt.Errorf("--listen: %w", err))
			}
			s, err := serve.Listen(address, args)
			if err != nil {
				return failed(fmt.Errorf("%w\nhint: --listen :PORT takes another port, :0 any that is free", err))
			}
			if _, err := fmt.Fprintf(c.OutOrStdout(), "Runs: %s (Ctrl-C ends this)\n", s.URL()); err != nil {
				return failed(err)
			}
			ctx, stop := signal.NotifyContext(c.Context(), unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
			defer stop()
			return failed(untilStopped(ctx, s))
		},
	}
	c.Flags().StringVar(&listen, "listen", ":8123", "`address`: :PORT on the loopback, or HOST:PORT for others to reach")
	return c
}

func untilStopped(ctx context.Context, s *serve.Server) error {
	select {
	case err := <-s.Ended():
		return err
	case <-ctx.Done():
		return s.Close()
	}
}
