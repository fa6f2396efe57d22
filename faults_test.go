package assay_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// docs/faults.md names a test for each fault: it must be there.
func TestFaultsNameTests(t *testing.T) {
	text, err := os.ReadFile("docs/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	functions, err := exec.Command("grep", "-rhoE", "--include=*_test.go", `^func (Test|Fuzz)[A-Za-z_0-9]+`, ".").Output()
	if err != nil {
		t.Skipf("skipped: %v", err)
	}
	names := regexp.MustCompile("`[a-z_]+\\.((Test|Fuzz)[A-Za-z_0-9]+)").FindAllStringSubmatch(string(text), -1)
	if len(names) < 15 {
		t.Errorf("only %d tests are named", len(names))
	}
	for _, name := range names {
		if !strings.Contains(string(functions), "func "+name[1]+"\n") {
			t.Errorf("there is no %s", name[1])
		}
	}
}
