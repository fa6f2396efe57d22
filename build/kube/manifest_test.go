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
		pods               int32
		image, namespace   string
		loadsRemote, byRun bool
	}{
		"manifest.yaml":          {pods: 4, image: "assay:latest"},
		"manifest_of_a_run.yaml": {pods: 2, image: "registry.example:5000/assay:1.2", namespace: "tests", loadsRemote: true, byRun: true},
	} {
		var job batch.Job
		strictly(t, name, &job)
		if job.Kind != "Job" || job.APIVersion != "batch/v1" || job.Namespace != want.namespace {
			t.Errorf("%s: %+v", name, job.TypeMeta)
		}
		spec := job.Spec
		if *spec.Completions != want.pods || *spec.Parallelism != want.pods ||
			*spec.CompletionMode != batch.IndexedCompletion {
			t.Errorf("%s: %+v", name, spec)
		}
		pod := spec.Template.Spec
		if pod.RestartPolicy != core.RestartPolicyOnFailure || len(pod.Containers) != 1 ||
			*pod.AutomountServiceAccountToken {
			t.Fatalf("%s: %+v", name, pod)
		}
		c := pod.Containers[0]
		args := "agent"
		if want.loadsRemote {
			args += " --allow-remote"
		}
		if want.byRun { // and it may have been killed
			args += " --idle=10m0s"
		}
		if c.Image != want.image || strings.Join(c.Args, " ") != args || len(c.Env) != 2 {
			t.Errorf("%s: %+v", name, c)
		}
		for i, variable := range []struct{ name, key string }{{"ASSAY_TOKEN", "token"}, {"ASSAY_NATS", "nats"}} {
			if e := c.Env[i]; e.Name != variable.name || e.ValueFrom.SecretKeyRef.Key != variable.key ||
				e.ValueFrom.SecretKeyRef.Name != job.Name {
				t.Errorf("%s: %+v", name, e)
			}
		}
	}
	var job batch.Job
	var secret core.Secret
	strictly(t, "manifest_of_a_run.yaml", &job)
	strictly(t, "secret_of_a_run.yaml", &secret)
	if secret.StringData["token"] != `a token: of "16" and more` || secret.StringData["nats"] != `nats://u:p"w@10.0.0.1:4222` ||
		secret.Namespace != job.Namespace || secret.Name != job.Name || secret.Kind != "Secret" || secret.APIVersion != "v1" {
		t.Errorf("%+v", secret)
	}
	if o := secret.OwnerReferences; len(o) != 1 || o[0].Kind != job.Kind || o[0].APIVersion != job.APIVersion || o[0].Name != job.Name || o[0].UID != "a-uid" {
		t.Errorf("%+v", o)
	}
	if err := yaml.UnmarshalStrict([]byte("spec: {completion: 4}"), &batch.Job{}); err == nil {
		t.Error("a field that Kubernetes does not know was taken")
	}
}

func strictly(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile("../../internal/execution/agents/testdata/" + name)
	if err == nil {
		err = yaml.UnmarshalStrict(text, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}
