// Package jars has Maven resolve the class path of a client for the JVM: the library and what it
// needs, in a folder of its own for each version, fetched once and kept.
package jars

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"assay/internal/base/bounded"
	"assay/internal/base/owned"
)

// patience is how long Maven may take to fetch a library over a slow line.
const patience = 10 * time.Minute

// ErrNoVersion is wrapped by errors that say that Maven's repositories have no such library.
var ErrNoVersion = errors.New("no such library in Maven's repositories")

// coordinate is a part of group:artifact:version, and a part of a file name.
var coordinate = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// Parse splits group:artifact:version.
func Parse(coordinates string) (parts [3]string, err error) {
	all := strings.Split(coordinates, ":")
	if len(all) != len(parts) {
		return parts, fmt.Errorf("expected group:artifact:version, such as com.whalin:Memcached-Java-Client:3.0.2, got %q", coordinates)
	}
	for i, part := range all {
		if !coordinate.MatchString(part) {
			return parts, fmt.Errorf("%q in %q is no part of group:artifact:version", part, coordinates)
		}
		parts[i] = part
	}
	return parts, nil
}

// Resolve returns the folder with the jars of group:artifact:version. It wraps exec.ErrNotFound
// where a library must be fetched and there is no Maven.
func Resolve(coordinates string) (string, error) {
	parts, err := Parse(coordinates)
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding a place for jars: %w", err)
	}
	folder := filepath.Join(cache, "assay", "jars", strings.Join(parts[:], "_"))
	if _, err := os.Stat(folder); err == nil {
		return folder, hold(folder)
	}
	maven, err := exec.LookPath("mvn")
	if err != nil {
		return "", fmt.Errorf("resolving %s: %w", coordinates, err)
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return "", fmt.Errorf("making a place for jars: %w", err)
	}
	// Made whole beside it and then renamed: who finds the folder finds all of it.
	fresh, err := owned.NewDirectory(filepath.Dir(folder), "jars")
	if err != nil {
		return "", fmt.Errorf("making a place for jars: %w", err)
	}
	defer func() { _ = fresh.Remove() }() // what stays is noted, and told by the next cleaning
	if err := fetch(maven, parts, fresh.Path); err != nil {
		return "", err
	}
	if err := os.Rename(filepath.Join(fresh.Path, "jars"), folder); err != nil {
		if _, there := os.Stat(folder); there == nil {
			return folder, hold(folder) // another process was faster
		}
		return "", fmt.Errorf("keeping the jars of %s: %w", coordinates, err)
	}
	return folder, nil
}

// fetch lets Maven copy a library and what it needs at run time into place/jars.
func fetch(maven string, parts [3]string, place string) error {
	project := filepath.Join(place, "pom.xml")
	if err := os.WriteFile(project, pom(parts), 0o600); err != nil {
		return fmt.Errorf("asking Maven: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	said, err := bounded.Output(exec.CommandContext(ctx, maven, "-B", "-q", "-C", "-f", project, // -C: a jar that is not as its checksum says is refused
		"org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies", "-DincludeScope=runtime",
		"-DoutputDirectory="+filepath.Join(place, "jars")))
	if err == nil {
		return seal(filepath.Join(place, "jars"))
	}
	coordinates := strings.Join(parts[:], ":")
	if strings.Contains(string(said), "Could not find artifact "+parts[0]+":"+parts[1]+":jar:"+parts[2]) {
		return fmt.Errorf("%w: %s", ErrNoVersion, coordinates)
	}
	return fmt.Errorf("resolving %s by Maven: %s", coordinates, reason(said, err))
}

// digestsFile is in a folder of jars what sha256sum -c reads.
const digestsFile = "SHA256SUMS"

const digestsMax = 1 << 20 // far beyond what any client needs

// digests returns what digestsFile says of the jars that are in a folder.
func digests(folder string) ([]byte, error) {
	jars, err := filepath.Glob(filepath.Join(globEscape(folder), "*.jar"))
	if err != nil {
		return nil, err
	}
	var all bytes.Buffer
	for _, jar := range jars { // sorted
		file, err := os.Open(jar)
		if err != nil {
			return nil, err
		}
		sum := sha256.New()
		_, err = io.Copy(sum, file)
		if err = errors.Join(err, file.Close()); err != nil {
			return nil, err
		}
		fmt.Fprintf(&all, "%x  %s\n", sum.Sum(nil), filepath.Base(jar))
	}
	return all.Bytes(), nil
}

func globEscape(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name)
}

func seal(folder string) error {
	sums, err := digests(folder)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, digestsFile), sums, 0o644)
	}
	if err != nil {
		return fmt.Errorf("noting the jars' digests: %w", err)
	}
	return nil
}

// hold is an error if the jars of a folder are not those that were fetched: another program would be
// measured by the name of the library. A folder of an older version is sealed as it is, once.
func hold(folder string) error {
	was, err := bounded.ReadFile(filepath.Join(folder, digestsFile), digestsMax)
	if errors.Is(err, os.ErrNotExist) {
		return seal(folder)
	}
	if err != nil {
		return fmt.Errorf("reading the jars' digests: %w", err)
	}
	sums, err := digests(folder)
	if err != nil {
		return fmt.Errorf("looking at the jars of %s: %w", folder, err)
	}
	if !bytes.Equal(sums, was) {
		return fmt.Errorf("the jars in %s are not those that Maven fetched: their SHA-256 is another than in %s\n"+
			"remove the folder, and they are fetched again", folder, digestsFile)
	}
	return nil
}

// reason returns the first line that Maven calls an error.
func reason(said []byte, err error) string {
	for line := range strings.Lines(string(said)) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "[ERROR] "); ok {
			return text
		}
	}
	return err.Error()
}

func pom(parts [3]string) []byte {
	var text bytes.Buffer
	text.WriteString(`<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>` +
		`<groupId>assay</groupId><artifactId>client</artifactId><version>1</version><packaging>pom</packaging><dependencies><dependency>`)
	for i, tag := range []string{"groupId", "artifactId", "version"} {
		fmt.Fprintf(&text, "<%s>", tag)
		_ = xml.EscapeText(&text, []byte(parts[i])) // a buffer takes everything
		fmt.Fprintf(&text, "</%s>", tag)
	}
	text.WriteString("</dependency></dependencies></project>\n")
	return text.Bytes()
}
