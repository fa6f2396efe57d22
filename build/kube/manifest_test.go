// Package kube is a module of its own, for tests alone: Kubernetes' types bring modules that Assay,
// which writes a manifest and calls kubectl, does not need.
package kube

import (
	"os"
	"strings"
	"testing"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// The manifests that internal/execution/agents writes, which its own test holds to these files, are
// decoded strictly: a field that Kubernetes does not know, or a second one of a name, is an error.
func TestManifests(t *testing.T) {
	for name, want := range map[string]struct {
		pods                int32
		image, token, nats  string
		namespace           string
		loadsRemote, secret bool
	}{
		"manifest.yaml": {pods: 4, image: "assay:latest"},
		"manifest_of_a_run.yaml": {pods: 2, image: "registry.example:5000/assay:1.2", token: `a token: of "16" and more`,
			nats: `nats://u:p"w@10.0.0.1:4222`, namespace: "tests", loadsRemote: true, secret: true},
	} {
		text, err := os.ReadFile("../../internal/execution/agents/testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		documents := strings.Split(string(text), "\n---\n")
		var secret core.Secret
		var job batch.Job
		if want.secret != (len(documents) == 2) {
			t.Fatalf("%s has %d documents", name, len(documents))
		}
		if want.secret {
			strictly(t, name, documents[0], &secret)
			if secret.StringData["token"] != want.token || secret.StringData["nats"] != want.nats || secret.Namespace != want.namespace || secret.Kind != "Secret" || secret.APIVersion != "v1" {
				t.Errorf("%s: %+v", name, secret)
			}
		}
		strictly(t, name, documents[len(documents)-1], &job)
		if job.Kind != "Job" || job.APIVersion != "batch/v1" || job.Namespace != want.namespace || want.secret && job.Name != secret.Name {
			t.Errorf("%s: %+v", name, job.TypeMeta)
		}
		spec := job.Spec
		if *spec.Completions != want.pods || *spec.Parallelism != want.pods || *spec.CompletionMode != batch.IndexedCompletion {
			t.Errorf("%s: %+v", name, spec)
		}
		pod := spec.Template.Spec
		if pod.RestartPolicy != core.RestartPolicyOnFailure || len(pod.Containers) != 1 || *pod.AutomountServiceAccountToken {
			t.Fatalf("%s: %+v", name, pod)
		}
		c := pod.Containers[0]
		args := "agent --join $(ASSAY_NATS)"
		if want.loadsRemote {
			args += " --allow-remote"
		}
		if c.Image != want.image || strings.Join(c.Args, " ") != args || len(c.Env) != 2 {
			t.Errorf("%s: %+v", name, c)
		}
		for i, variable := range []struct{ name, key string }{{"ASSAY_TOKEN", "token"}, {"ASSAY_NATS", "nats"}} {
			if e := c.Env[i]; e.Name != variable.name || e.ValueFrom.SecretKeyRef.Key != variable.key || e.ValueFrom.SecretKeyRef.Name != job.Name {
				t.Errorf("%s: %+v", name, e)
			}
		}
	}
	if err := yaml.UnmarshalStrict([]byte("spec: {completion: 4}"), &batch.Job{}); err == nil {
		t.Error("a field that Kubernetes does not know was taken")
	}
}

func strictly(t *testing.T, name, text string, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}
