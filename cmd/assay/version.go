package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is what assay --version prints.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{} // a build without modules: nothing is known but Go itself
	}
	return versionOf(info)
}

// versionOf returns what the linker recorded of a build, with "not known" for what it did not.
func versionOf(info *debug.BuildInfo) string {
	of := map[string]string{}
	for _, setting := range info.Settings {
		of[setting.Key] = setting.Value
	}
	revision := "unknown: the build did not record it"
	if hash := of["vcs.revision"]; hash != "" {
		revision = hash + " of " + cmp.Or(of["vcs.time"], "unknown time")
		if of["vcs.modified"] == "true" {
			revision += ", modified"
		}
	}
	return fmt.Sprintf("assay %s\nrevision: %s\nGo: %s %s/%s", cmp.Or(info.Main.Version, "(devel)"), revision,
		cmp.Or(info.GoVersion, runtime.Version()), runtime.GOOS, runtime.GOARCH)
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version, the revision and the Go release of this build",
		Long:    `Prints the version, the revision and the Go release of this build, as --version does.`,
		Example: `  assay version`,
		Args:    takes(0, 0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(c.OutOrStdout(), version())
			return failed(err)
		},
	}
}
