package memcached

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"assay/internal/execution/server"
)

// saslInstall are the packages that a login by SASL needs beside memcached's.
const saslInstall = "libsasl2-modules sasl2-bin"

// bySASL reports whether a server demands its login by SASL.
func bySASL(i *server.Instance) bool {
	return i.Guard.Credentials != "" && i.Options.Choice(optionLoginBy) == "sasl"
}

// saslSettings are memcached.conf, in the directory that SASL_CONF_PATH names: passwords stand in
// a file of the server's own, and no other mechanism is offered.
const saslSettings = "mech_list: plain\npwcheck_method: auxprop\nauxprop_plugin: sasldb\nsasldb_path: %s\n"

// prepareSASL writes the settings, and the user with the password. The password goes through a
// pipe: arguments stand in the process list.
func prepareSASL(ctx context.Context, i *server.Instance) error {
	tool, err := saslTool()
	if err != nil {
		return err
	}
	realm, err := os.Hostname() // memcached's own realm, which a user without one belongs to
	if err != nil {
		return err
	}
	passwords := filepath.Join(i.Directory, "sasldb")
	settings := filepath.Join(i.Directory, "memcached.conf")
	if err := os.WriteFile(settings, fmt.Appendf(nil, saslSettings, passwords), 0o644); err != nil {
		return err
	}
	return i.Run(ctx, "/bin/sh", "-c", `cut -d: -f2- "$1" | "$2" -p -c -a memcached -u "$3" -f "$4" "$5"`,
		"sh", i.Guard.Credentials, tool, realm, passwords, i.Guard.User)
}

// saslTool finds the program that sets a password, and looks for the mechanism's library.
func saslTool() (string, error) {
	libraries, err := filepath.Glob("/usr/lib*/*/sasl2/libplain.so*")
	if err != nil {
		return "", err
	}
	tool := ""
	for _, name := range []string{"saslpasswd2", "/usr/sbin/saslpasswd2"} {
		if found, err := exec.LookPath(name); err == nil && tool == "" {
			tool = found
		}
	}
	if tool == "" || len(libraries) == 0 {
		return "", fmt.Errorf("what SASL needs is %w (apt-get install --no-install-recommends %s)",
			server.ErrNotInstalled, saslInstall)
	}
	return tool, nil
}
