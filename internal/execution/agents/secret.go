package agents

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
)

// Token is what an agent and its conductor share. It gives the right to order load from the agent.
type Token string

// tokenBytesMin is the least length of a token: it is also guessed at offline, by who sees messages.
const tokenBytesMin = 16

// NewToken draws a token.
func NewToken() Token { return Token(randomHex(16)) }

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	if _, err := rand.Read(b); err != nil {
		panic("no randomness: " + err.Error()) // crypto/rand never fails on a kernel that Go runs on
	}
	return hex.EncodeToString(b)
}

// Check refuses a token that could be guessed.
func (t Token) Check() error {
	if len(t) < tokenBytesMin {
		return fmt.Errorf("a token has at least %d characters, this one has %d", tokenBytesMin, len(t))
	}
	return nil
}

func (t Token) derive(parts ...string) []byte {
	mac := hmac.New(sha256.New, []byte(t))
	for _, part := range parts {
		mac.Write(binary.BigEndian.AppendUint32(nil, uint32(len(part))))
		mac.Write([]byte(part))
	}
	return mac.Sum(nil)
}

// Credential is the token for the NATS server that a conductor starts. It is not the token itself: a
// client shows it to any server at the address.
func (t Token) Credential() string { return hex.EncodeToString(t.derive("nats")[:16]) }

// The envelope of a message is its MAC, its number and its body. The number goes up with each message
// of one direction of one session, whose key no other session has: a message is taken once at most.
const (
	macBytes      = sha256.Size
	envelopeBytes = macBytes + 8

	// messageBytesMax bounds a message, envelope included: the default of NATS servers.
	messageBytesMax = 1 << 20
)

// sealer makes the messages of one direction of a session.
type sealer struct {
	key    []byte
	number uint64
}

func (s *sealer) seal(subject string, body []byte) ([]byte, error) {
	if len(body) > messageBytesMax-envelopeBytes {
		return nil, fmt.Errorf("a message of %d bytes", len(body))
	}
	s.number++
	m := make([]byte, macBytes, envelopeBytes+len(body))
	m = binary.BigEndian.AppendUint64(m, s.number)
	m = append(m, body...)
	copy(m, macOf(s.key, subject, m[macBytes:]))
	return m, nil
}

func macOf(key []byte, subject string, rest []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(subject))
	mac.Write([]byte{0})
	mac.Write(rest)
	return mac.Sum(nil)
}

// Why a message is refused.
var (
	errOversized = errors.New("oversized")
	errForged    = errors.New("not made with the token")
	errReplayed  = errors.New("replayed")
	errMalformed = errors.New("malformed")
)

// opener takes the messages of one direction of a session.
type opener struct {
	key    []byte
	number uint64 // of the message before
}

func (o *opener) open(subject string, m []byte) (body []byte, err error) {
	switch {
	case len(m) > messageBytesMax:
		return nil, errOversized
	case len(m) < envelopeBytes || !hmac.Equal(m[:macBytes], macOf(o.key, subject, m[macBytes:])):
		return nil, errForged
	}
	number := binary.BigEndian.Uint64(m[macBytes:])
	if number <= o.number {
		return nil, errReplayed
	}
	o.number = number
	return m[envelopeBytes:], nil
}
