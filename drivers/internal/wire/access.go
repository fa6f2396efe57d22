package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"assay/internal/base/bounded"
	"assay/store"
)

// AccessOptions are the options of a driver whose connections may be encrypted, and may log in. None
// holds a secret: options stand in run directories and reports.
func AccessOptions() []store.Option {
	return append([]store.Option{
		{Name: "tls", Type: store.Bool, Default: "false",
			Help: "connect by TLS 1.2 or newer, and verify the server's certificate: its chain, and the endpoint's host in it"},
		{Name: "tls_ca_file", Type: store.String, Default: "",
			Help: "file with the certificates (PEM) of the authorities that are trusted, in place of the system's"},
		{Name: "tls_insecure", Type: store.Bool, Default: "false",
			Help: "DO NOT VERIFY the server's certificate: whoever answers is believed, and is given the password"},
	}, LoginOptions()...)
}

// LoginOptions are those of [AccessOptions] by which a connection logs in.
func LoginOptions() []store.Option {
	return []store.Option{
		{Name: "credentials_env", Type: store.String, Default: "",
			Help: "name of the environment variable that holds USER:PASSWORD to log in with"},
		{Name: "credentials_file", Type: store.String, Default: "",
			Help: "file whose first line is USER:PASSWORD, in place of it"},
	}
}

// Access is how a connection gets in: by TLS, and by a login. The zero value is neither.
type Access struct {
	tls            *tls.Config // nil: no TLS
	user, password string
}

// ReadAccess reads the options of [AccessOptions]. No error has a part of the credentials.
func ReadAccess(server string, o store.Options) (a Access, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w: %w", server, err, store.ErrRefused)
		}
	}()
	if a.tls, err = readTLS(o); err != nil {
		return Access{}, err
	}
	a.user, a.password, err = readCredentials(o.String("credentials_env"), o.String("credentials_file"))
	return a, err
}

// ReadLogin reads the options of [LoginOptions]. No error has a part of the credentials.
func ReadLogin(server string, o store.Options) (a Access, err error) {
	if a.user, a.password, err = readCredentials(o.String("credentials_env"), o.String("credentials_file")); err != nil {
		return Access{}, fmt.Errorf("%s: %w: %w", server, err, store.ErrRefused)
	}
	return a, nil
}

// Admitted reads some of the options of [AccessOptions]; those that are not given have their
// defaults.
func Admitted(given map[string]string) (Access, error) {
	options, err := store.Resolve(AccessOptions(), given)
	if err != nil {
		return Access{}, err
	}
	return ReadAccess("access", options)
}

// LoginAs is access by a login alone.
func LoginAs(user, password string) Access { return Access{user: user, password: password} }

// certificatesMax is several times what a system's own list of authorities takes.
const certificatesMax = 4 << 20

func readTLS(o store.Options) (*tls.Config, error) {
	file, insecure := o.String("tls_ca_file"), o.Bool("tls_insecure")
	switch {
	case !o.Bool("tls") && (file != "" || insecure):
		return nil, errors.New("tls_ca_file and tls_insecure have no meaning without tls")
	case !o.Bool("tls"):
		return nil, nil
	case file != "" && insecure:
		return nil, errors.New(
			"tls_ca_file names whom to trust, and tls_insecure trusts anybody: expected one of them")
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: insecure}
	if file == "" {
		return config, nil
	}
	text, err := bounded.ReadFile(file, certificatesMax)
	if err != nil {
		return nil, fmt.Errorf("tls_ca_file: %w", err)
	}
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("tls_ca_file: %s has no certificate in PEM", file)
	}
	return config, nil
}

func readCredentials(variable, file string) (user, password string, err error) {
	var text, from string
	switch {
	case variable == "" && file == "":
		return "", "", nil
	case variable != "" && file != "":
		return "", "", errors.New("credentials_env and credentials_file are both given: expected one of them")
	case variable != "":
		text, from = os.Getenv(variable), "credentials_env: "+variable
	default:
		if text, err = bounded.Line(file); err != nil {
			return "", "", fmt.Errorf("credentials_file: %w", err)
		}
		from = "credentials_file: " + file
	}
	user, password, ok := strings.Cut(text, ":")
	if !ok || password == "" {
		return "", "", fmt.Errorf("%s does not hold USER:PASSWORD (:PASSWORD where the server has no users)", from)
	}
	return user, password, nil
}

// Login returns what to log in with, and whether to.
func (a Access) Login() (user, password string, given bool) {
	return a.user, a.password, a.password != ""
}

// TLS returns a copy of the settings of TLS; nil: no TLS.
func (a Access) TLS() *tls.Config { return a.tls.Clone() }

// Dial connects, by TLS where that is asked for, within a time.
func (a Access) Dial(ctx context.Context, endpoint string, timeout time.Duration) (net.Conn, error) {
	if a.tls == nil {
		return Dial(ctx, store.Network(endpoint), endpoint, timeout)
	}
	return (&tls.Dialer{NetDialer: &net.Dialer{Timeout: timeout}, Config: a.tls}).DialContext(ctx, "tcp", endpoint)
}

// RefuseSocket says why one of some endpoints can't be reached: no server speaks TLS at a Unix socket.
func (a Access) RefuseSocket(server string, endpoints []string) error {
	if a.tls == nil {
		return nil
	}
	return RefuseSocket(server, "has no TLS at a Unix socket", endpoints)
}

// RefuseSocket says of the first Unix socket among some endpoints why it can't be used; nil: none is one.
func RefuseSocket(server, why string, endpoints []string) error {
	for _, endpoint := range endpoints {
		if store.Network(endpoint) == "unix" {
			return fmt.Errorf("%s %s, got %s: %w", server, why, endpoint, store.ErrRefused)
		}
	}
	return nil
}

// queuePause is how long a dial waits before it tries a Unix socket again whose queue was full.
const queuePause = time.Millisecond

// Dial connects by TCP, or to a Unix socket. The kernel refuses at once to connect to one whose listen
// queue is full, where by TCP it asks again: so it is tried again, within the same time.
func Dial(ctx context.Context, network, address string, timeout time.Duration) (net.Conn, error) {
	dialer, until := net.Dialer{Timeout: timeout}, time.Now().Add(timeout)
	for {
		c, err := dialer.DialContext(ctx, network, address)
		if network != "unix" || !errors.Is(err, syscall.EAGAIN) || time.Now().After(until) {
			return c, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(queuePause):
		}
	}
}

// Hide blots the password out of an error: a server that does not know the command to log in with
// may answer with its arguments.
func (a Access) Hide(err error) error {
	if err == nil || a.password == "" || !strings.Contains(err.Error(), a.password) {
		return err
	}
	return hidden{err, strings.ReplaceAll(err.Error(), a.password, "(password)")}
}

type hidden struct {
	error
	text string
}

func (h hidden) Error() string { return h.text }
func (h hidden) Unwrap() error { return h.error }

// Tell adds to a store's settings how its connections get in.
func (a Access) Tell(settings map[string]string) {
	switch {
	case a.tls == nil:
	case a.tls.InsecureSkipVerify:
		settings["driver.tls"] = "not verified"
	default:
		settings["driver.tls"] = "verified"
	}
	if _, _, given := a.Login(); given {
		settings["driver.login"] = "yes"
	}
}

// Encrypts reports whether a driver whose option tls is verify, auto or off connects to a host by TLS.
func Encrypts(choice, host string) bool {
	return choice == "verify" || choice == "auto" && !IsLoopback(host)
}

// IsLoopback reports whether a host is this machine by its name or number alone, or a Unix socket: no name is
// looked up.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || store.Network(host) == "unix" || ip != nil && ip.IsLoopback()
}
