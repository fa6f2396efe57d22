package server

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/store"
)

// Guard is what a server demands of those who connect. It is made anew for each start, stands in
// the first server's directory, and ends with it. The zero value demands nothing.
type Guard struct {
	Certificate, Key string // files in PEM: the server's own; "": no TLS
	Authority        string // file in PEM: what the driver verifies Certificate with

	Credentials    string // file that the driver logs in by, in its own form; "": no login
	User, Password string
	Option         string // of the driver, that takes Credentials; "": credentials_file
}

// files are the fields that name one.
func (g *Guard) files() []*string {
	return []*string{&g.Certificate, &g.Key, &g.Authority, &g.Credentials}
}

// The options by which an experiment asks for a guard.
const (
	optionTLS    = "tls"
	OptionLogin  = "login"
	OptionSocket = "socket"
)

// SocketOption is that of a program which can listen at a Unix socket: its Command does so where
// [Instance.AtSocket] says it, and then listens at no TCP port.
func SocketOption() store.Option {
	return store.Option{Name: OptionSocket, Type: store.Bool, Default: "false",
		Help: "listen at a Unix socket in the server's directory, which is closed to other users, and at no TCP port"}
}

// GuardOptions are those of a program that can demand TLS and a login: its Command does what
// Instance.Guard says. It demands a login by default where it would do more for others on the
// machine than store records: change files, or run programs.
func GuardOptions(login bool) []store.Option {
	return []store.Option{
		{Name: optionTLS, Type: store.Bool, Default: "false",
			Help: "take connections by TLS alone, with a certificate that Assay makes for this start, and that the driver verifies"},
		LoginOption(login),
	}
}

// LoginOption is that of a program which can demand a login, and does so by default or not, and has no TLS
// from Assay.
func LoginOption(login bool) store.Option {
	return store.Option{Name: OptionLogin, Type: store.Bool, Default: strconv.FormatBool(login),
		Help: "demand a user and a password, which Assay makes for this start, and the driver reads from a file"}
}

// DemandsLogin reports whether the program demands a login unless an experiment says otherwise.
func (p *Program) DemandsLogin() bool {
	return slices.ContainsFunc(p.Options, func(o store.Option) bool {
		return o.Name == OptionLogin && o.Default == strconv.FormatBool(true)
	})
}

// Admission says who can connect to a server of the program: how others on the machine are kept away,
// or, where they are not, why, and what they can do there.
func (p *Program) Admission() string {
	if p.DemandsLogin() {
		return "whoever connects must log in, by a password that Assay makes for each start"
	}
	return "everybody on the machine can connect: " + p.Open + p.closes()
}

// closes says which of its options keep others out.
func (p *Program) closes() string {
	var names []string
	for _, o := range p.Options {
		if o.Name == OptionLogin || o.Name == OptionSocket {
			names = append(names, o.Name+": true")
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; " + strings.Join(names, " or ") + " keeps them out"
}

// DriverOptions are the options with which the driver gets in.
func (g Guard) DriverOptions() map[string]string {
	options := map[string]string{}
	if g.Authority != "" {
		options["tls"], options["tls_ca_file"] = "true", g.Authority
	}
	if g.Credentials != "" {
		options[cmp.Or(g.Option, "credentials_file")] = g.Credentials
	}
	return options
}

// guarded reports whether the experiment asks for a guard.
func (i *Instance) guarded() bool {
	return i.asksFor(optionTLS) || i.asksFor(OptionLogin) || i.AtSocket()
}

// AtSocket reports whether the experiment asks for a Unix socket in place of a port.
func (i *Instance) AtSocket() bool { return i.asksFor(OptionSocket) }

// socketBytesMax is the longest path that the address of a Unix socket takes (unix(7)).
const socketBytesMax = 107

// refuseSocket says why what the experiment asks for can't be had at a Unix socket.
func (i *Instance) refuseSocket() error {
	switch path := i.Endpoint(); {
	case !i.AtSocket():
		return nil
	case i.Count > 1 && i.Program.Several == Cluster:
		return fmt.Errorf("members of a cluster find each other by TCP, not at Unix sockets: %w", store.ErrRefused)
	case i.Replicas > 0:
		return fmt.Errorf("replicas find their primary by TCP, not at a Unix socket: %w", store.ErrRefused)
	case i.asksFor(optionTLS):
		return fmt.Errorf("a Unix socket has no TLS here: %w", store.ErrRefused)
	case len(path) > socketBytesMax:
		return fmt.Errorf("the path of its Unix socket has %d bytes, and its address takes %d: "+
			"--data DIR puts the stores' directories elsewhere: %w", len(path), socketBytesMax, store.ErrRefused)
	}
	return nil
}

func (i *Instance) asksFor(option string) bool {
	_, declared := i.Options[option]
	return declared && i.Options.Bool(option)
}

// makeGuard writes what the experiment asks for into the server's directory.
func (i *Instance) makeGuard(hosts []string) error {
	i.Guard = Guard{}
	if len(i.Peers) > 0 {
		i.Guard = i.Peers[0].Guard // the driver gets into all of them with the same
		return nil
	}
	if i.asksFor(optionTLS) {
		if err := i.makeCertificates(hosts); err != nil {
			return fmt.Errorf("making certificates: %w", err)
		}
	}
	if i.asksFor(OptionLogin) {
		i.Guard.User, i.Guard.Password = "default", rand.Text()
		i.Guard.Credentials = filepath.Join(i.Directory, "credentials")
		text := i.Guard.User + ":" + i.Guard.Password
		if i.Program.Credentials != nil {
			i.Guard.Option, text = i.Program.Credentials(i.Guard)
		}
		return i.writeFile(i.Guard.Credentials, []byte(text+"\n"))
	}
	return nil
}

// writeFile writes a file that the server's user and the user who runs Assay alone can read.
func (i *Instance) writeFile(path string, text []byte) error {
	if err := os.WriteFile(path, text, 0o600); err != nil || i.user == nil {
		return err
	}
	return os.Chown(path, int(i.user.Uid), int(i.user.Gid))
}

// certificateLife is longer than any trial.
const certificateLife = 30 * 24 * time.Hour

func (i *Instance) makeCertificates(hosts []string) error {
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	now := time.Now()
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Assay, for one server"},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certificateLife),
	}
	own := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: i.Program.Driver},
		NotBefore: authority.NotBefore, NotAfter: authority.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		own.IPAddresses = append(own.IPAddresses, net.ParseIP(host))
	}
	signed, err := x509.CreateCertificate(rand.Reader, own, authority, &key.PublicKey, authorityKey)
	if err != nil {
		return err
	}
	selfSigned, err := x509.CreateCertificate(rand.Reader, authority, authority, &authorityKey.PublicKey, authorityKey)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	for _, file := range []struct {
		path *string
		name string
		kind string
		raw  []byte
	}{
		{&i.Guard.Authority, "authority.pem", "CERTIFICATE", selfSigned},
		{&i.Guard.Certificate, "certificate.pem", "CERTIFICATE", signed},
		{&i.Guard.Key, "key.pem", "PRIVATE KEY", private},
	} {
		*file.path = filepath.Join(i.Directory, file.name)
		text := pem.EncodeToMemory(&pem.Block{Type: file.kind, Bytes: file.raw})
		if err := i.writeFile(*file.path, text); err != nil {
			return err
		}
	}
	return nil
}
