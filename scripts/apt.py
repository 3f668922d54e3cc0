# SPDX-License-Identifier: GPL-2.0
"""Packages from Debian suites that this machine does not follow, without root and without touching its apt state.

A private apt directory takes the mirror from the machine's own apt configuration (so proxies and credentials hold) and
adds other suites to it. apt itself checks the archive's signature and each package's checksum.
"""
import os
import re
import subprocess

from common import CACHE, Stop, output_of, read, say

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
# Where 7.3 and new Rust sources may lie, the likeliest first; each is fetched only when those before have no answer.
SUITES = ("trixie-backports", "trixie", "forky", "sid")

# Read after the machine's own files: its hooks are not for a private directory (one that empties
# /var/cache/apt/archives would hit an installation that runs at the same time).
CONFIG = """\
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Pre-Invoke;
#clear DPkg::Post-Invoke;
#clear DPkg::Pre-Install-Pkgs;
#clear Acquire::IndexTargets::deb::DEP-11;
#clear Acquire::IndexTargets::deb::DEP-11-icons-small;
#clear Acquire::IndexTargets::deb::DEP-11-icons;
#clear Acquire::IndexTargets::deb::CNF;
APT::Sandbox::User "root";
APT::Default-Release "";
Acquire::Languages "none";
Acquire::Retries "3";
Dir::State "{base}/state";
Dir::State::lists "{base}/lists";
Dir::State::status "{base}/status";
Dir::Cache "{base}/cache";
Dir::Cache::archives "{base}/cache/archives";
Dir::Etc::sourcelist "{base}/sources.list";
Dir::Etc::sourceparts "{base}/none";
Dir::Etc::preferences "{base}/none/preferences";
Dir::Etc::preferencesparts "{base}/none";
"""


def mirror():
    """The Debian archive this machine's apt uses."""
    codename = (re.search(r"^VERSION_CODENAME=(\S+)", read("/etc/os-release", ""), re.M) or [None, ""])[1]
    targets = output_of("apt-get", "indextargets", "--format", "$(SITE) $(RELEASE) $(CODENAME)") or ""
    for line in targets.splitlines():
        site, *names = line.split(" ")
        if codename and codename in names and not site.startswith("cdrom:"):
            return site
    raise Stop("no Debian mirror in this machine's apt sources")


class Apt:
    """apt-get and apt-cache in the private directory."""

    def __init__(self):
        self.base = os.path.join(CACHE, "apt")
        self.site = mirror()
        if not os.path.exists(KEYRING):
            raise Stop(f"{KEYRING} is missing: apt-get install debian-archive-keyring")
        for folder in ("state", "lists/partial", "cache/archives/partial", "none"):
            os.makedirs(os.path.join(self.base, folder), exist_ok=True)
        self._write("status", "")
        self._write("apt.conf", CONFIG.format(base=self.base))

    def _write(self, name, text):
        with open(os.path.join(self.base, name), "w", encoding="utf-8") as file:
            file.write(text)

    def _command(self, *arguments):
        return [arguments[0], "-c", os.path.join(self.base, "apt.conf"), *arguments[1:]]

    def offers(self, package, suite):
        """[(version, suite)] of a package in one suite, best first; none where the suite is not there."""
        self._write("sources.list", f"deb [signed-by={KEYRING}] {self.site} {suite} main\n")
        say(f"looking for {package} in Debian's {suite}")
        done = subprocess.run(self._command("apt-get", "-q", "update"), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, check=False)
        if done.returncode:
            say(f"{suite}: " + (done.stdout.strip().splitlines() or ["apt-get update failed"])[-1])
            return []
        rows = (output_of(*self._command("apt-cache", "madison", package)) or "").splitlines()
        return [(row.split("|")[1].strip(), suite) for row in rows if row.count("|") == 2 and "Packages" in row]

    def find(self, package, wanted):
        """The first version, suite by suite, that `wanted(version)` accepts; the suite stays selected."""
        for suite in SUITES:
            for found, _ in self.offers(package, suite):
                if wanted(found):
                    return found
        return None

    def download(self, package, found, folder):
        """The .deb's path. apt shows its own progress and verifies what it got."""
        say(f"downloading {package} {found}")
        done = subprocess.run(self._command("apt-get", "download", f"{package}={found}"), cwd=folder,
                              stdin=subprocess.DEVNULL, check=False)
        debs = [name for name in os.listdir(folder) if name.startswith(package + "_") and name.endswith(".deb")]
        if done.returncode or len(debs) != 1:
            raise Stop(f"the download of {package} {found} failed (see apt's message above)")
        return os.path.join(folder, debs[0])


def unpack(deb, folder):
    if subprocess.run(["dpkg-deb", "-x", deb, folder], check=False).returncode:
        raise Stop(f"{os.path.basename(deb)} cannot be unpacked")
