package host

import "runtime/debug"

// build returns Assay's version with its VCS revision, and the versions of the libraries that are
// linked in.
func build() (version string, modules map[string]string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", nil
	}
	modules = map[string]string{}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		modules[m.Path] = m.Version
	}
	return versionOf(info), modules
}

// versionOf returns for instance "v1.2.0 (0123456789ab, modified)". A build outside version control
// has no revision.
func versionOf(info *debug.BuildInfo) string {
	version := info.Main.Version
	if version == "" {
		version = "(devel)"
	}
	var revision, modified string
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			revision = setting.Value[:min(12, len(setting.Value))]
		case "vcs.modified":
			if setting.Value == "true" {
				modified = ", modified"
			}
		}
	}
	if revision == "" {
		return version
	}
	return version + " (" + revision + modified + ")"
}
