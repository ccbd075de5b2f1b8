package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/freshet/freshet/mcp/tool"
)

func (r *run) installVerb() *cobra.Command {
	var write string
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Print how agents' clients are told of freshet, or tell one of them",
		Long: "install prints the configuration for each client. With --write CLIENT it adds freshet to\n" +
			"the configuration of that client, keeps everything else in it, and leaves a backup beside\n" +
			"it. Clients: " + strings.Join(clientNames(), ", ") + ".",
		Args: atMost(0),
		RunE: func(*cobra.Command, []string) error {
			if write != "" {
				return r.writeClient(write)
			}
			text := r.installText()
			if r.json {
				r.print(tool.Succeeded(tool.Report{Usage: text}))
				return nil
			}
			_, err := io.WriteString(r.Stdout, text)
			return err
		},
	}
	cmd.Flags().StringVar(&write, "write", "", "the client whose configuration is to be changed")
	return cmd
}

// installText is the configuration for each client.
func (r *run) installText() string {
	var b strings.Builder
	for _, c := range agentClients() {
		fmt.Fprintf(&b, "# %s", c.title)
		if path := c.path(r.UserHome, r.Dir); path != "" {
			fmt.Fprintf(&b, ": %s (freshet install --write %s)", path, c.name)
		}
		b.WriteString("\n" + c.snippet(r.Executable) + "\n")
	}
	b.WriteString("# Over HTTP: run `freshet up` and give the client the address http://127.0.0.1:7433/mcp\n")
	return b.String()
}

// writeClient adds freshet to the configuration of a client.
func (r *run) writeClient(name string) error {
	c, ok := findClient(name)
	if !ok || c.file == "" {
		return usagef("--write: %q is none of the clients whose configuration is known: %s", name,
			strings.Join(clientNames()[:len(clientNames())-1], ", "))
	}
	path := c.path(r.UserHome, r.Dir)
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved // a link stays a link
	}
	data, err := os.ReadFile(path)
	existed := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return tool.Errorf(tool.CodePermissionDenied, "read the configuration of %s: %w", c.title, err)
	}
	changed, err := c.splice(data, r.Executable)
	if err != nil {
		return tool.Errorf(tool.CodeInvalidArgument, "the configuration %s is broken and is left as it is: %w; "+
			"mend it, or add by hand what `freshet install` prints", path, err)
	}
	said := "nothing to do: " + path + " names freshet already\n"
	if string(changed) != string(data) {
		said = "freshet is added to " + path + "\n"
		if existed {
			backup := path + ".before-freshet-" + r.Now().UTC().Format("20060102T150405.000Z")
			if err := replaceFile(backup, data, path); err != nil {
				return tool.Errorf(tool.CodePermissionDenied, "keep a backup: %w", err)
			}
			said += "what it was is kept in " + backup + "\n"
		}
		if err := replaceFile(path, changed, path); err != nil {
			return tool.Errorf(tool.CodePermissionDenied, "write the configuration of %s: %w", c.title, err)
		}
	}
	if r.json {
		r.print(tool.Succeeded(tool.Report{Usage: said}))
		return nil
	}
	_, err = io.WriteString(r.Stdout, said)
	return err
}

// splice adds the server to a configuration.
func (c agentClient) splice(data []byte, program string) ([]byte, error) {
	if c.toml {
		text, err := spliceTOML(string(data), c.table+"."+entry, c.tomlTable(program))
		return []byte(text), err
	}
	return spliceJSON(data, c.table, entry, c.server(program))
}

// replaceFile writes a file whole or not at all, with the mode of another where that is.
func replaceFile(path string, data []byte, like string) error {
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(like); err == nil {
		mode = info.Mode().Perm()
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), ".freshet-*")
	if err != nil {
		return err
	}
	_, err = temporary.Write(data)
	err = errors.Join(err, temporary.Chmod(mode), temporary.Sync(), temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary.Name()))
	}
	return nil
}
