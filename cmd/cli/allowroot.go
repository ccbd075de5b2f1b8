package cli

import (
	"os"
	"path/filepath"
	"slices"
)

const allowRootHelp = "Agents may register directories below the roots that their client gives, below the working\n" +
	"directory (unless that is / or a home) and below those given with --allow-root or in\n" +
	"FRESHET_ALLOW_ROOT, separated as in PATH. Any other is for a person: freshet index PATH."

// allowRoots makes the directories that the operator gave absolute: those of the
// environment and those of a flag.
func (r *run) allowRoots(given []string) ([]string, error) {
	var roots []string
	for _, dir := range slices.Concat(r.AllowRoots, given) {
		if dir == "" {
			continue
		}
		dir = r.absolute(dir)
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, usagef("--allow-root or FRESHET_ALLOW_ROOT: %s is not a directory that exists", dir)
		}
		roots = append(roots, dir)
	}
	return roots, nil
}

// workingRoot is the working directory, unless it says nothing: that of a service or of a
// login shell.
func (r *run) workingRoot() []string {
	if r.Dir == "" || r.Dir == string(filepath.Separator) || r.Dir == filepath.Clean(r.UserHome) || r.Dir == filepath.Dir(r.UserHome) {
		return nil
	}
	return []string{r.Dir}
}
