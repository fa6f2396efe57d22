package main

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

// parts lists the modules that the linker wrote into a binary, as CycloneDX.
func parts(r release, b binary) ([]byte, error) {
	info, err := buildinfo.Read(bytes.NewReader(b.content))
	if err != nil {
		return nil, fmt.Errorf("what is linked in: %w", err)
	}
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Timestamp: r.when.Format(time.RFC3339), Component: &cyclonedx.Component{
		Type: cyclonedx.ComponentTypeApplication, BOMRef: "assay", Name: "assay", Version: r.version}}
	components := []cyclonedx.Component{{Type: cyclonedx.ComponentTypeLibrary, BOMRef: "go", Name: "std", Version: info.GoVersion,
		PackageURL: "pkg:golang/std@" + info.GoVersion[len("go"):]}}
	for _, module := range info.Deps {
		for module.Replace != nil {
			module = module.Replace
		}
		url := "pkg:golang/" + module.Path + "@" + module.Version
		components = append(components, cyclonedx.Component{Type: cyclonedx.ComponentTypeLibrary, BOMRef: url,
			Name:    module.Path,
			Version: module.Version, PackageURL: url})
	}
	bom.Components = &components
	var out bytes.Buffer
	encoder := cyclonedx.NewBOMEncoder(&out, cyclonedx.BOMFileFormatJSON)
	encoder.SetPretty(true)
	err = encoder.Encode(bom)
	return out.Bytes(), err
}
