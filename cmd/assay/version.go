package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is what assay --version prints.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{} // a build without modules: nothing is known but Go itself
	}
	return versionOf(info)
}

// versionOf says what the linker wrote down of a build. What it did not is said to be not known.
func versionOf(info *debug.BuildInfo) string {
	of := map[string]string{}
	for _, setting := range info.Settings {
		of[setting.Key] = setting.Value
	}
	revision := "not known: the build did not record it"
	if hash := of["vcs.revision"]; hash != "" {
		revision = hash + " of " + cmp.Or(of["vcs.time"], "a time not known")
		if of["vcs.modified"] == "true" {
			revision += ", modified"
		}
	}
	return fmt.Sprintf("assay %s\nrevision: %s\nGo: %s %s/%s", cmp.Or(info.Main.Version, "(devel)"), revision,
		cmp.Or(info.GoVersion, runtime.Version()), runtime.GOOS, runtime.GOARCH)
}
