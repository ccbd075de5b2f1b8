package cli

import "path/filepath"

// DefaultHome is the data directory that the environment names: FRESHET_HOME, or freshet
// in the user's data directory. It is empty when there is none.
func DefaultHome(getenv func(string) string) string {
	if home := getenv("FRESHET_HOME"); home != "" {
		return home
	}
	if data := getenv("XDG_DATA_HOME"); filepath.IsAbs(data) {
		return filepath.Join(data, "freshet")
	}
	if home := getenv("HOME"); home != "" {
		return filepath.Join(home, ".local", "share", "freshet")
	}
	return ""
}

// home is the data directory, absolute.
func (r *run) home() (string, error) {
	if r.Home == "" {
		return "", usagef("there is no data directory: set FRESHET_HOME or give --home")
	}
	home, err := filepath.Abs(r.Home)
	if err != nil {
		return "", usagef("--home: %w", err)
	}
	return home, nil
}
