// Bundle makes the report page's script and style sheet, which package html embeds, and the script
// of a run's page while it goes on, which package serve does, out of web/page and uPlot. It is the
// one program of the repository that imports esbuild.
package main

//go:generate go run .

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/evanw/esbuild/pkg/api"
)

// Paths from this folder, where go generate and go test run.
const (
	pageFolder   = "../page"
	uPlotLicence = "../third_party/uplot/LICENSE"
	presentation = "../../internal/presentation"
)

// folders is where each file of the bundle is committed.
var folders = map[string]string{
	"page.js":  presentation + "/html/assets",
	"page.css": presentation + "/html/assets",
	"live.js":  presentation + "/serve/assets",
}

func main() {
	bundle, err := build()
	for name, content := range bundle {
		if err == nil {
			err = os.WriteFile(filepath.Join(folders[name], name), content, 0o644)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}

// build returns the bundle's files by name, without writing them.
func build() (map[string][]byte, error) {
	licence, err := os.ReadFile(uPlotLicence)
	if err != nil {
		return nil, fmt.Errorf("reading the licence that the bundle must carry: %w", err)
	}
	result := api.Build(api.BuildOptions{
		EntryPointsAdvanced: []api.EntryPoint{
			{InputPath: filepath.Join(pageFolder, "main.js"), OutputPath: "page"},
			{InputPath: filepath.Join(pageFolder, "page.css"), OutputPath: "page"},
			{InputPath: filepath.Join(pageFolder, "live.js"), OutputPath: "live"},
		},
		Outdir: "out", Bundle: true, Write: false, LogLevel: api.LogLevelSilent,
		Format: api.FormatIIFE, Target: api.ES2020, Charset: api.CharsetUTF8,
		MinifyWhitespace: true, MinifySyntax: true, MinifyIdentifiers: true,
		LegalComments: api.LegalCommentsNone,
		Banner:        map[string]string{"js": "/* Contains uPlot.\n\n" + string(licence) + "*/"},
	})
	if len(result.Errors) > 0 {
		first := result.Errors[0]
		if first.Location != nil {
			return nil, fmt.Errorf("%s:%d: %s", first.Location.File, first.Location.Line, first.Text)
		}
		return nil, fmt.Errorf("esbuild: %s", first.Text)
	}
	bundle := map[string][]byte{}
	for _, file := range result.OutputFiles {
		bundle[filepath.Base(file.Path)] = file.Contents
	}
	return bundle, nil
}
