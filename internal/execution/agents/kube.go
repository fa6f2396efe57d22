package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"text/template"
	"time"

	"assay/internal/base/bounded"
	"assay/internal/base/format"
)

// Agents in pods are an indexed Job: each pod is one agent, which joins by itself, and a pod that fails
// is started again for as long as the Job is there. A run makes the Job with kubectl, as its user has
// set that up, and deletes it when it is over. A run that was killed can't: the agents of its Job end
// when they have heard of no conductor for podIdle, Kubernetes then deletes the Job, and with it the
// Secret, whose owner it is.

// Job is what a manifest says.
type Job struct {
	Name      string // of the Job, and of the Secret with the token
	Namespace string // "": kubectl's own
	Count     int
	Image     string

	AllowRemote bool
	Idle        time.Duration // without a conductor its agents end by themselves; 0: never

	// ByRun says that a run makes the Job, and the Secret with it; otherwise both are the user's.
	ByRun bool
}

const (
	podIdle = 10 * time.Minute
	// jobKept is how long Kubernetes keeps a Job whose agents have all ended.
	jobKept = 10 * time.Minute
)

// jobName is what Kubernetes takes for a name, and for a part of a host's name.
var jobName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,50}[a-z0-9])?$`)

// parsedYAML parses a text when it is first written: every start of the command would take the time.
func parsedYAML(text string) func() *template.Template {
	return sync.OnceValue(func() *template.Template {
		return template.Must(template.New("yaml").Funcs(template.FuncMap{"q": quotedYAML}).Parse(text))
	})
}

var manifest = parsedYAML(`
{{- if not .ByRun -}}
# kubectl create secret generic {{.Name}} --from-file=token=FILE --from-file=nats=FILE
# kubectl apply -f THIS
# ASSAY_TOKEN_FILE=FILE ASSAY_NATS_FILE=FILE assay run … --agents join:{{.Count}}
{{end -}}
apiVersion: batch/v1
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
  ttlSecondsAfterFinished: {{.Kept}}
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
{{- if .AllowRemote}}
            - --allow-remote
{{- end}}
{{- if .Idle}}
            - --idle={{.Idle}}
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
`)

// secret has what pods join with: its Job is the owner, so that it goes when that does.
var secret = parsedYAML(`apiVersion: v1
kind: Secret
metadata:
  name: {{q .Name}}
{{- if .Namespace}}
  namespace: {{q .Namespace}}
{{- end}}
  labels: {app.kubernetes.io/name: assay-agent}
  ownerReferences:
    - {apiVersion: batch/v1, kind: Job, name: {{q .Name}}, uid: {{q .UID}}}
stringData:
  token: {{q (print .Token)}}
  nats: {{q .Server}}
`)

// Kept is in seconds.
func (j Job) Kept() int { return int(jobKept.Seconds()) }

func quotedYAML(text string) string { return fmt.Sprintf("%q", text) }

// Manifest writes what kubectl apply takes.
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
	err := manifest().Execute(&out, j)
	return out.String(), err
}

// Secret writes the Secret that the pods of the Job wait for. uid is the Job's; server is the URL of
// the NATS server, as pods reach it, with what that asks for.
func (j Job) Secret(uid string, token Token, server string) (string, error) {
	var out strings.Builder
	err := secret().Execute(&out, struct {
		Job
		UID    string
		Token  Token
		Server string
	}{j, uid, token, server})
	return out.String(), err
}

// kubePatience is how long kubectl may take for one request.
const kubePatience = time.Minute

// kubectl does something with a manifest, and returns what it prints.
func (h *Hub) kubectl(ctx context.Context, manifest string, words ...string) (string, error) {
	command := slices.Clone(h.Kubectl)
	if len(command) == 0 {
		command = []string{"kubectl"}
	}
	command = append(command, words...)
	ctx, cancel := context.WithTimeout(ctx, kubePatience)
	defer cancel()
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Stdin, c.WaitDelay = strings.NewReader(manifest), time.Second
	out, errs, err := bounded.Outputs(c)
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", command[0], words[0], err, format.CleanMax(strings.TrimSpace(string(errs)), 500))
	}
	return strings.TrimSpace(string(out)), nil
}

// applyJobs makes the Jobs of the places that ask for pods. Each has a name that no other run's has:
// an earlier one of the same experiment may still be there, with another token, if it was killed.
func (h *Hub) applyJobs(ctx context.Context) error {
	for len(h.jobs) > h.applied {
		j := h.jobs[h.applied]
		j.Name += "-" + randomHex(3)
		j.AllowRemote, j.Idle, j.ByRun = h.AllowRemote, podIdle, true
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
		uid, err := h.kubectl(ctx, text, "apply", "-f", "-", "-o", "jsonpath={.metadata.uid}")
		if err != nil {
			return err
		}
		// The Secret comes second, for it names its owner: pods wait for it.
		if text, err = j.Secret(uid, h.Token, h.Options.Server); err != nil {
			return err
		}
		h.manifests = append(h.manifests, text)
		if _, err = h.kubectl(ctx, text, "apply", "-f", "-"); err != nil {
			return err
		}
	}
	return nil
}

// deleteJobs deletes what applyJobs made, with its pods.
func (h *Hub) deleteJobs() {
	for _, text := range h.manifests {
		if _, err := h.kubectl(context.Background(), text, "delete", "-f", "-", "--ignore-not-found", "--wait=false"); err != nil {
			fmt.Fprintf(h.Log, "assay: the agents' Job is left in the cluster, which deletes it %s after its agents have heard of no run for %s: %v\n",
				format.Seconds(jobKept.Seconds()), format.Seconds(podIdle.Seconds()), err)
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
