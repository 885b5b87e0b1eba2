#!/usr/bin/env -S node --import=tsx --conditions=agent-host-source
// The command line from source, for work on agent-host itself.
import { flush, handle, run } from '@oclif/core'
import { loadSourceConfig } from '../scripts/source-config.js'

await run(process.argv.slice(2), await loadSourceConfig()).then(flush, handle)
