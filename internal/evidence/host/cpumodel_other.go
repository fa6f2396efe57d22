//go:build !linux

package host

func cpuModel() string { return "" }
