#!/usr/bin/env bash
# Builds the site into build/site, after the set-up (scripts/setup.sh). A broken link is an error, and so is a
# page that the order in mkdocs.yml does not name. Open build/site/index.html: no server is needed.
#
# Environment: STEPSTORE_SITE (default build/site), and what scripts/setup.sh takes. Tests set
# STEPSTORE_DOCS_PYTHON and PYTHONPATH: then nothing is set up.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$STEPSTORE_ROOT"
site=${STEPSTORE_SITE:-$STEPSTORE_BUILD/site}
if [[ -z ${STEPSTORE_DOCS_PYTHON:-} ]]; then
    scripts/setup.sh
    STEPSTORE_DOCS_PYTHON=$STEPSTORE_VENV/bin/python
fi
export NO_MKDOCS_2_WARNING=1 PYTHONDONTWRITEBYTECODE=1
quiet_step "build the site" "$STEPSTORE_BUILD/log/docs.log" \
    "$STEPSTORE_DOCS_PYTHON" -m mkdocs build --strict --clean --site-dir "$site"
say "the site: $site/index.html"
