// Package secret takes out of command lines and messages what must not be stored, printed or offered:
// logins of addresses, and values of what is named a password, a token, a secret or a key. Assay itself
// takes none of them on a command line, but a user may have typed one, and a library may quote one.
package secret

import (
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Hidden stands in place of a secret.
const Hidden = "***"

var (
	// address is a URL's login. Brackets are no part of one: those of "[USER@]HOST" are of a hint.
	address = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)([^\s/@\[\]'"<>]+)@`)
	// login is one without a scheme, as of "user:password@tcp(host)".
	login = regexp.MustCompile(`(^|[\s'"=({\[,@])([A-Za-z0-9_.+-]+):([^\s@/,:'"]+)@`)
	// named is what a secret's name is set to: what names its file or variable ends otherwise.
	named = regexp.MustCompile(`(?i)((?:^|[^a-z0-9])(?:[a-z0-9]*[-_.])*` + names + `['"]?=)("[^"]*"|'[^']*'|[^\s,&;}\])'"]+)`)
	// camel is likewise of Java's properties, as javax.net.ssl.keyStorePassword.
	camel = regexp.MustCompile(`([A-Za-z0-9.]*[a-z](?:Password|Passphrase|Secret|Token)=)("[^"]*"|'[^']*'|[^\s,&;}\])'"]+)`)
	// field is likewise in YAML and JSON.
	field = regexp.MustCompile(`(?i)((?:^|[^a-z0-9])(?:[a-z0-9]*[-_.])*` + names + `['"]?:\s*)("[^"]*"|'[^']*'|[^\s,&;}\])'"]+)`)
	// flag is a word whose value is the next.
	flag = regexp.MustCompile(`(?i)^--?(?:[a-z0-9]*[-_.])*` + names + `$`)

	port = regexp.MustCompile(`^[0-9]{1,5}$`)
)

const names = `(?:password|passwd|passphrase|pass|secret|token|credentials?|api[-_]?key|access[-_]?key|private[-_]?key)`

// Text hides the secrets of a message. Words such as "token: expected …" stay: only what stands behind
// an equals sign is a value there.
func Text(text string) string {
	text = address.ReplaceAllStringFunc(text, func(whole string) string {
		parts := address.FindStringSubmatch(whole)
		user, _, both := strings.Cut(parts[2], ":")
		switch {
		case both && user != "":
			return parts[1] + user + ":" + Hidden + "@"
		case strings.EqualFold(parts[1], "ssh://") && !both:
			return whole // a name alone, which ssh asks for no password by
		}
		return parts[1] + Hidden + "@"
	})
	text = login.ReplaceAllStringFunc(text, func(whole string) string {
		parts := login.FindStringSubmatch(whole)
		if port.MatchString(parts[3]) || parts[3] == Hidden { // HOST:PORT@BUS of a cluster's node
			return whole
		}
		return parts[1] + parts[2] + ":" + Hidden + "@"
	})
	text = named.ReplaceAllString(text, "${1}"+Hidden)
	return camel.ReplaceAllString(text, "${1}"+Hidden)
}

// Words hides the secrets of a command line. The words are as many as before.
func Words(words []string) []string {
	words = slices.Clone(words)
	for i, word := range words {
		if i > 0 && flag.MatchString(words[i-1]) && !strings.HasPrefix(word, "-") {
			words[i] = Hidden
			continue
		}
		words[i] = field.ReplaceAllString(Text(word), "${1}"+Hidden)
	}
	return words
}

// before is what stands before an @, as far as it may be a login of any form.
var before = regexp.MustCompile(`[^\s"'\[{]\S*@`)

var wordHere = regexp.MustCompile(`^\w*`)

// Masked hides whatever may be a login before an @, character for character, so that carets under the
// text still fit. A hint's "[USER@]HOST" stays, and a server that is to be started ("redis@start").
func Masked(text string) string {
	var out strings.Builder
	at := 0
	for _, found := range before.FindAllStringIndex(text, -1) {
		from, to := found[0], found[1]
		out.WriteString(text[at:from])
		at = to
		rest := text[to:]
		word := wordHere.FindString(rest)
		switch {
		case strings.HasPrefix(rest, "]"), word == "start" && !strings.ContainsAny(text[from:to-1], ":@/"):
			out.WriteString(text[from:to])
		default:
			out.WriteString(strings.Repeat("*", utf8.RuneCountInString(text[from:to])-1) + "@")
		}
	}
	return out.String() + text[at:]
}

// Log hides the secrets of what is written to w, a line at a time.
type Log struct{ W io.Writer }

func (l Log) Write(text []byte) (int, error) {
	if _, err := io.WriteString(l.W, Text(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}
