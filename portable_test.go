package assay_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// What Assay is built for. Compiling it with all modules would take minutes a target where
// type-checking takes seconds: bodies of functions that are not ours are left out. Processors differ in
// what the kernel is asked, which is done in the packages named; make dist builds all for each.
func TestPackagesAreForOtherMachinesToo(t *testing.T) {
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range []struct {
		system, processor string
		packages          []string
	}{
		{"linux", "arm64", []string{"./internal/base/...", "./internal/evidence/...", "./internal/execution/...", "./worker", "./drivers/internal/..."}},
		{"darwin", "arm64", []string{"./cmd/assay"}},
	} {
		t.Run(target.system+"/"+target.processor, func(t *testing.T) {
			config := &packages.Config{
				Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
					packages.NeedDeps |
					packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedTypesSizes,
				Dir: root, Env: append(os.Environ(), "GOOS="+target.system, "GOARCH="+target.processor, "CGO_ENABLED=0"),
				ParseFile: func(files *token.FileSet, name string, text []byte) (*ast.File, error) {
					file, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
					if file != nil && !strings.HasPrefix(name, root+string(filepath.Separator)) {
						for _, d := range file.Decls {
							if function, ok := d.(*ast.FuncDecl); ok {
								function.Body = nil
							}
						}
					}
					return file, err
				},
			}
			roots, err := packages.Load(config, target.packages...)
			if err != nil || len(roots) == 0 {
				t.Fatal(len(roots), err)
			}
			packages.Visit(roots, nil, func(p *packages.Package) {
				if strings.HasPrefix(p.PkgPath, module+"/") {
					for _, fault := range p.Errors {
						t.Error(fault)
					}
				}
			})
		})
	}
}
