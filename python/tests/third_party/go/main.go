// Holds what a Timestrata topic gives out against software that its authors didn't write: Go's own
// transparency log (golang.org/x/mod/sumdb) and that of transparency.dev.
//
//	timestrata-third-party verify FOLDER
//	timestrata-third-party generate NAME KEYFILE
//	timestrata-third-party sign KEYFILE NAME TEXTFILE
//
// verify prints a line for each check, its name and how often it was made, and ends with 1 at the
// first that goes wrong. generate prints the public key, sign the signed note.
package main

import (
	"errors"
	"fmt"
	"os"
)

// check is one thing that has to be so of a log; run gives how often it was.
type check struct {
	name string
	run  func(*exported) (int, error)
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "verify":
		return verify(args[1])
	case len(args) == 3 && args[0] == "generate":
		return generate(args[1], args[2])
	case len(args) == 4 && args[0] == "sign":
		return sign(args[1], args[2], args[3])
	}
	return errors.New("usage: verify FOLDER | generate NAME KEYFILE | sign KEYFILE NAME TEXTFILE")
}

func verify(folder string) error {
	log, err := read(folder)
	if err != nil {
		return err
	}
	var checks []check
	for _, some := range [][]check{noteChecks(), tileChecks(), inclusionChecks(), growthChecks()} {
		checks = append(checks, some...)
	}
	for _, check := range checks {
		times, err := check.run(log)
		if err != nil {
			fmt.Printf("WRONG %s: %v\n", check.name, err)
			return fmt.Errorf("%s: %w", check.name, err)
		}
		fmt.Printf("%d %s\n", times, check.name)
	}
	return nil
}

// expectRefused is an error if something that was tampered with was accepted.
func expectRefused(what string, err error) error {
	if err == nil {
		return fmt.Errorf("%s: accepted", what)
	}
	return nil
}
