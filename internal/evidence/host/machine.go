package host

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"assay/internal/base/bounded"
	"assay/internal/base/format"
)

// machineOf reads the settings of the machine that are known to change figures, in words, by their
// names. What can't be read is left out.
func machineOf(r roots, directory string, pid int) map[string]string {
	all := map[string]string{}
	note := func(what, is string) {
		if is != "" {
			all[what] = is
		}
	}
	cpu := filepath.Join(r.sys, "devices", "system", "cpu")
	note("SMT", onOff(firstLine(filepath.Join(cpu, "smt", "active")), "1", "0"))
	note("turbo", onOff(firstLine(filepath.Join(cpu, "cpufreq", "boost")), "1", "0"))
	note("turbo", onOff(firstLine(filepath.Join(cpu, "intel_pstate", "no_turbo")), "0", "1"))
	if nodes, err := filepath.Glob(filepath.Join(r.sys, "devices", "system", "node", "node[0-9]*")); err == nil && len(nodes) > 0 {
		note("NUMA nodes", strconv.Itoa(len(nodes)))
	}
	note("mitigations", mitigations(filepath.Join(cpu, "vulnerabilities")))
	note("transparent huge pages", chosen(firstLine(filepath.Join(r.sys, "kernel", "mm", "transparent_hugepage", "enabled"))))
	memory := meminfo(filepath.Join(r.proc, "meminfo"))
	if pages, told := memory["HugePages_Total"]; told {
		note("huge pages", format.Bytes(float64(pages*memory["Hugepagesize"])))
	}
	if swap, told := memory["SwapTotal"]; told {
		note("swap", format.Bytes(float64(swap)))
	}
	note("swappiness", firstLine(filepath.Join(r.proc, "sys", "vm", "swappiness")))
	note("hypervisor", hypervisor(r))
	if disk := deviceOf(r, directory).disk; disk != "" {
		place := filepath.Join(r.sys, "block", disk)
		note("disk", firstLine(filepath.Join(place, "device", "model")))
		note("disk rotates", onOff(firstLine(filepath.Join(place, "queue", "rotational")), "1", "0", "yes", "no"))
		note("disk scheduler", chosen(firstLine(filepath.Join(place, "queue", "scheduler"))))
		note("disk write cache", firstLine(filepath.Join(place, "queue", "write_cache")))
		if kilobytes, err := strconv.ParseFloat(firstLine(filepath.Join(place, "queue", "read_ahead_kb")), 64); err == nil {
			note("disk read-ahead", format.Bytes(kilobytes*1024))
		}
	}
	note("CPU limit", limitText(cpuQuota(r, pid), func(n float64) string { return fmt.Sprintf("%g CPUs", n) }))
	return all
}

// onOff puts a flag of the kernel into words; "" is none of both.
func onOff(is, on, off string, words ...string) string {
	words = append(words, "on", "off")
	switch is {
	case on:
		return words[0]
	case off:
		return words[1]
	}
	return ""
}

func limitText(limit float64, text func(float64) string) string {
	if limit == 0 {
		return "none"
	}
	return text(limit)
}

// chosen is the word in brackets, of a list of what could be chosen.
func chosen(list string) string {
	_, rest, _ := strings.Cut(list, "[")
	word, _, _ := strings.Cut(rest, "]")
	return word
}

// mitigations says against which known faults of processors nothing is done; "": it is not told.
func mitigations(place string) string {
	files, err := os.ReadDir(place)
	if err != nil || len(files) == 0 {
		return ""
	}
	var open []string
	for _, file := range files {
		if strings.HasPrefix(firstLine(filepath.Join(place, file.Name())), "Vulnerable") {
			open = append(open, file.Name())
		}
	}
	if len(open) == 0 {
		return "on"
	}
	slices.Sort(open)
	return "none against " + strings.Join(open, ", ")
}

// hypervisor names what the machine is a guest of; "none": the processor does not say that it is one.
func hypervisor(r roots) string {
	if kind := firstLine(filepath.Join(r.sys, "hypervisor", "type")); kind != "" {
		return kind
	}
	text := readString(filepath.Join(r.proc, "cpuinfo"))
	_, rest, told := strings.Cut(text, "\nflags")
	flags, _, _ := strings.Cut(rest, "\n")
	switch {
	case !told:
		return ""
	case !slices.Contains(strings.Fields(flags), "hypervisor"):
		return "none"
	}
	identity := filepath.Join(r.sys, "class", "dmi", "id")
	if name := strings.TrimSpace(firstLine(filepath.Join(identity, "sys_vendor")) + " " + firstLine(filepath.Join(identity, "product_name"))); name != "" {
		return name
	}
	return "one without a name"
}

// meminfo reads meminfo (proc_meminfo(5)): bytes, and numbers of pages where no unit stands.
func meminfo(path string) map[string]uint64 {
	text, err := bounded.Kernel(path)
	if err != nil {
		return nil
	}
	all := map[string]uint64{}
	for line := range strings.Lines(string(text)) {
		name, rest, _ := strings.Cut(line, ":")
		fields := strings.Fields(rest)
		if len(fields) == 0 {
			continue
		}
		number, err := strconv.ParseUint(fields[0], 10, 64)
		if err != nil {
			continue
		}
		if len(fields) > 1 && fields[1] == "kB" {
			number <<= 10
		}
		all[name] = number
	}
	return all
}
