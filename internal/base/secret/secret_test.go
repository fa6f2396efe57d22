package secret

import (
	"slices"
	"strings"
	"testing"
)

const hidden = "s3cr3t-Word"

func TestSecretsAreHidden(t *testing.T) {
	for _, words := range [][]string{
		{"assay", "run", "--nats", "nats://user:" + hidden + "@10.0.0.5:4222"},
		{"assay", "run", "--nats=nats://" + hidden + "@10.0.0.5:4222"},
		{"assay", "run", "--nats", "tls://:" + hidden + "@h"},
		{"assay", "run", "ssh://load:" + hidden + "@h1"},
		{"assay", "run", "--set", "stores.redis.options.password=" + hidden},
		{"assay", "run", "--set", "stores.redis.options={user: me, password: " + hidden + "}"},
		{"assay", "run", "--set", `options={"auth_token": "` + hidden + `", "a": 1}`},
		{"assay", "run", "--set", "jvm.flags=-Djavax.net.ssl.keyStorePassword=" + hidden},
		{"assay", "run", "--password", hidden},
		{"assay", "run", "--token", hidden, "--full"},
		{"assay", "run", "memcached@me:" + hidden + "@h:1"},
		{"assay", "run", "--api-key=" + hidden},
		{"assay", "run", "postgres://me:" + hidden + "@db/x?sslmode=off", "--x"},
		{"assay", "run", "me:" + hidden + "@tcp(10.0.0.1)/db"},
		{"PGPASSWORD=x", "host=h password='" + hidden + " too' dbname=x"},
	} {
		out := Words(words)
		if text := strings.Join(out, " "); strings.Contains(text, hidden) || !strings.Contains(text, Hidden) || len(out) != len(words) {
			t.Errorf("%q", text)
		}
		if again := Words(out); !slices.Equal(again, out) {
			t.Errorf("hidden twice: %q, then %q", out, again)
		}
	}
	for _, text := range []string{"dial nats://" + hidden + "@h: refused", `parse "nats://u:` + hidden + `@h:x": invalid port`, "dsn user=me password=" + hidden + " host=h"} {
		if got := Text(text); strings.Contains(got, hidden) {
			t.Errorf("%q", got)
		}
	}
}

// What is no secret stays, above all the hints that Assay itself gives.
func TestHintsAreReadable(t *testing.T) {
	for _, text := range []string{
		"--nats nats://h:x: expected nats://HOST:PORT", "expected ssh://[USER@]HOST[:PORT]", "ssh://load@h1,ssh://h2",
		"credentials_file: /etc/assay/login does not hold USER:PASSWORD (:PASSWORD where the server has no users)",
		"--set stores.redis.options.credentials_file=/run/login", "credentials_env=REDIS_LOGIN", "password_file=/run/pw",
		"redis@127.0.0.1:6379,memcached@10.0.0.1:11211", "127.0.0.1:7000@17000", "threads=8", "invalid token: unexpected }",
		"--join: there is no token: set ASSAY_TOKEN", "kube://NAME:4", "http://127.0.0.1:8080/run/x@y", "a@b.example",
		"token_bytes=8", "columns: {text: {kind: token}}", "passes=3",
	} {
		if got := Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	words := []string{"assay", "run", "redis@127.0.0.1:6379", "--set", "values.tokens=5", "--agents", "ssh://load@h1", "--durability", "D1,D3", "--threads", "1,8"}
	if got := Words(words); !slices.Equal(got, words) {
		t.Errorf("%q", got)
	}
}

func TestMasked(t *testing.T) {
	for _, text := range []string{"hunter2@h:1", "u:x]hunter2@h:1", "u:x,hunter2@h:1", "redis://admin:hunter2@h", "a:hunter2@start"} {
		if got := Masked("at " + text); strings.Contains(got, "hunter2") || len(got) != len(text)+3 {
			t.Errorf("%q became %q", text, got)
		}
	}
	for _, text := range []string{"expected ssh://[USER@]HOST[:PORT]", "stores: [nats@start]", "the name redis@start"} {
		if got := Masked(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}
