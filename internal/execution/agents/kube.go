package agents

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"time"

	"assay/internal/base/format"
)

// Agents in pods are an indexed Job: each pod is one agent, which joins by itself, and a pod that ends
// is started again for as long as the Job is there. A run makes the Job with kubectl, as its user has
// set that up, and deletes it when it is over.

// Job is what a manifest says.
type Job struct {
	Name      string // of the Job, and of the Secret with the token
	Namespace string // "": kubectl's own
	Count     int
	Image     string

	// Token and Server go into the Secret: Server is the URL of the NATS server, as pods reach it, with
	// what that asks for. Without a token the Secret is somebody else's to make.
	Token       Token
	Server      string
	AllowRemote bool
}

// jobName is what Kubernetes takes for a name, and for a part of a host's name.
var jobName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,50}[a-z0-9])?$`)

var manifest = template.Must(template.New("manifest").Funcs(template.FuncMap{"q": quotedYAML}).Parse(`{{if .Token}}apiVersion: v1
kind: Secret
metadata:
  name: {{q .Name}}
{{- if .Namespace}}
  namespace: {{q .Namespace}}
{{- end}}
  labels: {app.kubernetes.io/name: assay-agent}
stringData:
  token: {{q (print .Token)}}
  nats: {{q .Server}}
---
{{else -}}
# kubectl create secret generic {{.Name}} --from-literal=token=TOKEN --from-literal=nats=nats://HOST:PORT
# kubectl apply -f THIS
# assay run … --agents join:{{.Count}} --nats nats://TOKEN@HOST:PORT
{{end}}apiVersion: batch/v1
kind: Job
metadata:
  name: {{q .Name}}
{{- if .Namespace}}
  namespace: {{q .Namespace}}
{{- end}}
  labels: {app.kubernetes.io/name: assay-agent}
spec:
  completionMode: Indexed
  completions: {{.Count}}
  parallelism: {{.Count}}
  backoffLimit: 1000
  ttlSecondsAfterFinished: 600
  template:
    metadata:
      labels: {app.kubernetes.io/name: assay-agent}
    spec:
      restartPolicy: OnFailure
      terminationGracePeriodSeconds: 5
      automountServiceAccountToken: false
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels: {app.kubernetes.io/name: assay-agent}
      containers:
        - name: agent
          image: {{q .Image}}
          imagePullPolicy: IfNotPresent
          args:
            - agent
            - --join
            - $(ASSAY_NATS)
{{- if .AllowRemote}}
            - --allow-remote
{{- end}}
          env:
            - name: ASSAY_TOKEN
              valueFrom:
                secretKeyRef: {name: {{q .Name}}, key: token}
            - name: ASSAY_NATS
              valueFrom:
                secretKeyRef: {name: {{q .Name}}, key: nats}
          securityContext:
            allowPrivilegeEscalation: false
            capabilities: {drop: [ALL]}
`))

func quotedYAML(text string) string { return fmt.Sprintf("%q", text) }

// Manifest writes what kubectl apply takes: a Job, and before it a Secret if the token is given.
func (j Job) Manifest() (string, error) {
	switch {
	case !jobName.MatchString(j.Name):
		return "", fmt.Errorf("the name %q: expected lower-case letters, digits and hyphens, at most 52", j.Name)
	case j.Namespace != "" && !jobName.MatchString(j.Namespace):
		return "", fmt.Errorf("the namespace %q: expected lower-case letters, digits and hyphens", j.Namespace)
	case j.Count < 1:
		return "", fmt.Errorf("a Job of %d agents", j.Count)
	case j.Image == "" || strings.ContainsAny(j.Image, " \n\"'"):
		return "", fmt.Errorf("the image %q: expected [REGISTRY/]NAME[:TAG]", j.Image)
	}
	var out strings.Builder
	if err := manifest.Execute(&out, j); err != nil {
		return "", err
	}
	return out.String(), nil
}

// kubePatience is how long kubectl may take for one request.
const kubePatience = time.Minute

// kubectl does something with a manifest.
func (h *Hub) kubectl(ctx context.Context, manifest string, words ...string) error {
	command := slices.Clone(h.Kubectl)
	if len(command) == 0 {
		command = []string{"kubectl"}
	}
	command = append(command, words...)
	ctx, cancel := context.WithTimeout(ctx, kubePatience)
	defer cancel()
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	var errs bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr, c.WaitDelay = strings.NewReader(manifest), io.Discard, &errs, time.Second
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", command[0], words[0], err, format.CleanMax(strings.TrimSpace(errs.String()), 500))
	}
	return nil
}

// applyJobs makes the Jobs of the places that ask for pods.
func (h *Hub) applyJobs(ctx context.Context) error {
	for len(h.jobs) > h.applied {
		j := h.jobs[h.applied]
		j.Server, j.Token, j.AllowRemote = h.Options.Server, h.Token, h.AllowRemote
		j.Image = cmp.Or(h.Image, DefaultImage)
		if h.server != nil {
			return errors.New("agents in pods don't reach the NATS server that a run starts on its loopback\n" +
				"start one that both reach, and name it: --nats nats://HOST:PORT")
		}
		text, err := j.Manifest()
		if err != nil {
			return err
		}
		h.applied++ // also what was applied in part is deleted
		h.manifests = append(h.manifests, text)
		if err := h.kubectl(ctx, text, "apply", "-f", "-"); err != nil {
			return err
		}
	}
	return nil
}

// deleteJobs deletes what applyJobs made, with its pods.
func (h *Hub) deleteJobs() {
	for _, text := range h.manifests {
		if err := h.kubectl(context.Background(), text, "delete", "-f", "-", "--ignore-not-found", "--wait=false"); err != nil {
			fmt.Fprintf(h.Log, "assay: the agents' Job is left in the cluster: %v\n", err)
		}
	}
	h.manifests = nil
}

// DefaultImage is the image that make dist makes.
const DefaultImage = "assay:latest"

// launchDocker starts an agent in a container on this machine. Its network is the machine's, so that it
// reaches the conductor's NATS server and the stores that are on loopback.
func launchDocker(h *Hub) (*exec.Cmd, string, error) {
	command := slices.Clone(h.Docker)
	if len(command) == 0 {
		command = []string{"docker"}
	}
	command = append(command, "run", "--rm", "--interactive", "--network", "host", cmp.Or(h.Image, DefaultImage), "agent", "--invited")
	return exec.Command(command[0], command[1:]...), h.Server, nil
}
