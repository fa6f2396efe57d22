package drivertest

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/execution/server"
	"assay/store"
)

// clientsOf are the ways to a server that a driver has; "" where it has one.
func clientsOf(driver store.Driver) []string {
	for _, o := range driver.Describe().Options {
		if o.Name == "client" {
			return o.Choices
		}
	}
	return []string{""}
}

// VerifiesTLS holds a driver to what its options of TLS say, on a real server that speaks TLS alone,
// and on one that speaks none. A third server's authority is a stranger.
func VerifiesTLS(t *testing.T, driver store.Driver, p server.Program) {
	secured, other := StartServer(t, p, store.D0, map[string]string{"tls": "true"}), StartServer(t, p, store.D0, map[string]string{"tls": "true"})
	plain := StartServer(t, p, store.D0, nil).Endpoint()
	encrypted, authority, stranger := secured.Endpoint(), secured.Guard.Authority, other.Guard.Authority
	_, port, err := net.SplitHostPort(encrypted)
	if err != nil {
		t.Fatal(err)
	}
	for _, client := range clientsOf(driver) {
		for _, test := range []struct {
			name, endpoint string
			options        map[string]string
			told           string // the setting driver.tls; "": it must fail
			failure        string // and what the error says
		}{
			{"trusted", encrypted, map[string]string{"tls": "true", "tls_ca_file": authority}, "verified", ""},
			{"by default", encrypted, map[string]string{"tls": "true"}, "", "unknown authority"},
			{"another authority", encrypted, map[string]string{"tls": "true", "tls_ca_file": stranger}, "", "unknown authority"},
			{"another host", "localhost:" + port, map[string]string{"tls": "true", "tls_ca_file": authority}, "", "localhost"},
			{"not verified", encrypted, map[string]string{"tls": "true", "tls_insecure": "true"}, "not verified", ""},
			{"TLS is not asked for", encrypted, nil, "", ""},
			{"the server has none", plain, map[string]string{"tls": "true", "tls_ca_file": authority, "operation_timeout": "2s"}, "", ""},
			{"an authority without TLS", plain, map[string]string{"tls_ca_file": authority}, "", "without tls"},
			{"insecure without TLS", plain, map[string]string{"tls_insecure": "true"}, "", "without tls"},
			{"an authority and insecure", encrypted, map[string]string{"tls": "true", "tls_insecure": "true", "tls_ca_file": authority}, "", "one of them"},
			{"no certificate", encrypted, map[string]string{"tls": "true", "tls_ca_file": secured.Guard.Key}, "", "no certificate"},
		} {
			t.Run(strings.TrimSpace(client+" "+test.name), func(t *testing.T) {
				config := Config(t, driver.Describe(), store.D0, test.options)
				config.Endpoints, config.First = []string{test.endpoint}, true
				if client != "" {
					config.Options["client"] = client
				}
				settings, err := roundTrip(t, driver, config)
				told := settings["driver.tls"]
				if test.told == "" && (err == nil || !strings.Contains(err.Error(), test.failure)) {
					t.Errorf("expected an error with %q, got %v", test.failure, err)
				}
				if test.told != "" && (err != nil || told != test.told) {
					t.Errorf("the settings say of TLS %q, expected %q: %v", told, test.told, err)
				}
			})
		}
	}
}

// roundTrip opens, writes and reads, and returns what the store reports about itself.
func roundTrip(t *testing.T, driver store.Driver, c store.Config) (settings map[string]string, err error) {
	t.Helper()
	s, err := driver.Open(t.Context(), c)
	if err != nil {
		return nil, err
	}
	h, err := s.Handle()
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	defer func() { err = errors.Join(err, h.Close(), s.Close()) }()
	value := strings.Repeat("value", 10_000) // of several TLS records
	if err := h.Put([]byte("key"), []byte(value)); err != nil {
		return nil, err
	}
	got, err := h.Get([]byte("key"), nil)
	if err == nil && string(got) != value {
		err = fmt.Errorf("got %d other bytes", len(got))
	}
	return s.Settings(), err
}

// LogsIn holds a driver to what its options of credentials say, on a real server that demands a
// login. No setting and no error has the password.
func LogsIn(t *testing.T, driver store.Driver, p server.Program) {
	logsIn(t, driver, p, clientsOf(driver), nil, nil)
}

// LogsInBy is LogsIn with options of the server, which decide how a login is demanded, and of the
// driver, of which only the default client is tried.
func LogsInBy(t *testing.T, driver store.Driver, p server.Program, demand, given map[string]string) {
	logsIn(t, driver, p, []string{""}, demand, given)
}

func logsIn(t *testing.T, driver store.Driver, p server.Program, clients []string, demand, given map[string]string) {
	started := map[string]string{"login": "true"}
	maps.Copy(started, demand)
	guarded := StartServer(t, p, store.D0, started)
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "credentials")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	right := guarded.Guard.User + ":" + guarded.Guard.Password
	t.Setenv("SOMEBODYS_LOGIN", right)
	t.Setenv("EMPTY_LOGIN", "")
	for _, client := range clients {
		for name, test := range map[string]struct {
			options map[string]string
			failure string // what the error says; "": none must come
		}{
			"a file":                {map[string]string{"credentials_file": file(right + "\n")}, ""},
			"a file of CRLF":        {map[string]string{"credentials_file": file(right + "\r\nmore\r\n")}, ""},
			"the environment":       {map[string]string{"credentials_env": "SOMEBODYS_LOGIN"}, ""},
			"both":                  {map[string]string{"credentials_env": "SOMEBODYS_LOGIN", "credentials_file": file(right)}, "one of them"},
			"no credentials":        {nil, "server answers"},
			"a wrong password":      {map[string]string{"credentials_file": file(guarded.Guard.User + ":swordfish")}, "the server"},
			"a wrong user":          {map[string]string{"credentials_file": file("swordfish:" + guarded.Guard.Password)}, "the server"},
			"no file":               {map[string]string{"credentials_file": file("") + "-is-not-there"}, "credentials_file"},
			"an empty file":         {map[string]string{"credentials_file": file("")}, "USER:PASSWORD"},
			"a password alone":      {map[string]string{"credentials_file": file(guarded.Guard.Password)}, "USER:PASSWORD"},
			"an unset variable":     {map[string]string{"credentials_env": "EMPTY_LOGIN"}, "USER:PASSWORD"},
			"nothing after a colon": {map[string]string{"credentials_file": file(guarded.Guard.User + ":")}, "USER:PASSWORD"},
		} {
			t.Run(strings.TrimSpace(client+" "+name), func(t *testing.T) {
				options := maps.Clone(given)
				if options == nil {
					options = map[string]string{}
				}
				maps.Copy(options, test.options)
				config := Config(t, driver.Describe(), store.D0, options)
				config.Endpoints, config.First = []string{guarded.Endpoint()}, true
				if client != "" {
					config.Options["client"] = client
				}
				settings, err := roundTrip(t, driver, config)
				if told := fmt.Sprint(settings, err); strings.Contains(told, guarded.Guard.Password) || strings.Contains(told, "swordfish") {
					t.Errorf("a setting or an error has the password or the user: %s", told)
				}
				if test.failure == "" && (err != nil || settings["driver.login"] != "yes") {
					t.Errorf("the settings say of the login %q: %v", settings["driver.login"], err)
				}
				if test.failure != "" && (err == nil || !strings.Contains(err.Error(), test.failure)) {
					t.Errorf("expected an error with %q, got %v", test.failure, err)
				}
			})
		}
	}
}
