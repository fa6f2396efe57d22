package main

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

func TestVersionOfABuild(t *testing.T) {
	t.Parallel()
	build := func(version string, settings ...string) *debug.BuildInfo {
		info := &debug.BuildInfo{GoVersion: "go1.26.1", Main: debug.Module{Version: version}}
		for i := 0; i < len(settings); i += 2 {
			info.Settings = append(info.Settings, debug.BuildSetting{Key: settings[i], Value: settings[i+1]})
		}
		return info
	}
	for _, c := range []struct {
		info *debug.BuildInfo
		want string
	}{
		{build("v1.2.3", "vcs.revision", "0123456789abcdef", "vcs.time", "2026-11-20T09:00:00Z", "vcs.modified", "false"),
			"assay v1.2.3\nrevision: 0123456789abcdef of 2026-11-20T09:00:00Z\nGo: go1.26.1 "},
		{build("(devel)", "vcs.revision", "01", "vcs.time", "2026-11-20T09:00:00Z", "vcs.modified", "true"),
			"assay (devel)\nrevision: 01 of 2026-11-20T09:00:00Z, modified\nGo: go1.26.1 "},
		{build("v1.2.3", "vcs.revision", "01"), "assay v1.2.3\nrevision: 01 of unknown time\nGo: go1.26.1 "},
		{build(""), "assay (devel)\nrevision: unknown: the build did not record it\nGo: go1.26.1 "},
		{&debug.BuildInfo{}, "assay (devel)\nrevision: unknown: the build did not record it\nGo: " + runtime.Version() + " "},
	} {
		if got := versionOf(c.info); got != c.want+runtime.GOOS+"/"+runtime.GOARCH {
			t.Errorf("got\n%s\nwant\n%s", got, c.want)
		}
	}
}

func TestVersionIsPrinted(t *testing.T) {
	t.Parallel()
	e := assay(t, "--version")
	e.wants(t, 0)
	if !strings.HasPrefix(e.stdout, "assay ") || !strings.Contains(e.stdout, "\nrevision: ") || !strings.Contains(e.stdout, "\nGo: "+runtime.Version()) {
		t.Errorf("it prints %q", e.stdout)
	}
}
