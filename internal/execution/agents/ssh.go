package agents

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"time"

	"assay/internal/base/bounded"
	"assay/internal/base/format"
)

// Agents of other machines are reached by ssh, as its user has set it up: with keys, hosts and jumps of
// its own files. This binary is copied there once, under the name of its checksum; the agent reaches the
// conductor's NATS server through a tunnel of the same connection, so that no port is opened and no
// credential is new. When the connection ends, the agent's input does, and with it the agent.

const (
	remoteDirectory = ".cache/assay" // in the home of the user there

	copyPatience = 5 * time.Minute

	// The ports of which one is taken for the tunnel's end on the agent's machine.
	tunnelFrom, tunnelCount = 20_000, 12_000

	tunnelsMax = 4 // ports that are tried
)

// isTunnelFailure says if ssh itself failed: the port that was drawn for the tunnel may be another
// program's. That the machine can be reached is known by then, for the program was copied there.
func isTunnelFailure(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.ExitCode() == 255
}

// sshTo returns ssh's command up to what is done on the target, [USER@]HOST[:PORT].
func (h *Hub) sshTo(target string, options ...string) (command []string) {
	command = slices.Clone(h.SSH)
	if len(command) == 0 {
		command = []string{"ssh"}
	}
	command = append(append(command, "-o", "BatchMode=yes", "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=2"), options...)
	if u, err := url.Parse("ssh://" + target); err == nil && u.Port() != "" {
		command = append(command, "-p", u.Port())
		target = strings.TrimSuffix(target, ":"+u.Port())
	}
	return append(command, "--", target)
}

// launchSSH returns the launcher of an agent on a target.
func launchSSH(target string) launcher {
	return func(h *Hub) (*exec.Cmd, string, error) {
		program, err := h.copyTo(target)
		if err != nil {
			return nil, "", err
		}
		server, err := url.Parse(h.Server)
		if err != nil {
			return nil, "", errors.New("the NATS server's address can't be read")
		}
		here := net.JoinHostPort(server.Hostname(), cmp.Or(server.Port(), "4222"))
		there := fmt.Sprintf("127.0.0.1:%d", tunnelFrom+rand.IntN(tunnelCount))
		server.Host = there
		words := append([]string{"exec", program}, h.Agent[1:]...)
		command := append(h.sshTo(target, "-o", "ExitOnForwardFailure=yes", "-R", there+":"+here), quoted(append(words, "--invited")))
		return exec.Command(command[0], command[1:]...), server.String(), nil
	}
}

// quoted makes words of a command line that a shell reads as they are.
func quoted(words []string) string {
	for i, word := range words {
		if strings.ContainsFunc(word, func(r rune) bool {
			return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=", r)
		}) || word == "" {
			words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// copyTo copies this binary to a target unless it is there, and returns its path there. Its name is its
// checksum, which is proven before it gets the name.
func (h *Hub) copyTo(target string) (program string, err error) {
	own, err := os.Open(h.Agent[0])
	if err != nil {
		return "", err
	}
	defer own.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, own); err != nil {
		return "", err
	}
	sum := hex.EncodeToString(hash.Sum(nil))
	directory := cmp.Or(h.SSHDirectory, remoteDirectory)
	program = path.Join(directory, "assay-"+sum)
	there, err := h.over(target, nil, fmt.Sprintf("uname -sm; test -x %s && echo there", quoted([]string{program})))
	if err != nil && !strings.Contains(there, "Linux") {
		return "", err
	}
	if strings.Contains(there, "there") {
		return program, nil
	}
	if _, err := own.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	q := func(word string) string { return quoted([]string{word}) }
	part := program + ".part" + randomHex(4)
	_, err = h.over(target, own, fmt.Sprintf(`umask 077; mkdir -p %s && cat > %s && test "$(sha256sum < %s | cut -d ' ' -f 1)" = %s && chmod 700 %s && mv %s %s || { rm -f %s; exit 1; }`,
		q(directory), q(part), q(part), sum, q(part), q(part), q(program), q(part)))
	if err != nil {
		return "", fmt.Errorf("copying this program: %w", err)
	}
	return program, nil
}

// over does a command of the shell on a target, and returns its output.
func (h *Hub) over(target string, in io.Reader, script string) (output string, err error) {
	words := append(h.sshTo(target), script)
	ctx, cancel := context.WithTimeout(context.Background(), copyPatience)
	defer cancel()
	command := exec.CommandContext(ctx, words[0], words[1:]...)
	command.Stdin = in
	out, errs, err := bounded.Outputs(command)
	if err != nil {
		return string(out), fmt.Errorf("%s: %w: %s", words[0], err, format.Clean(strings.TrimSpace(string(errs))))
	}
	return string(out), nil
}
