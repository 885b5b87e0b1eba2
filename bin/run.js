#!/usr/bin/env node
import { readyText } from '../dist/prebuilt-help.js'

// Help and version were written when agent-host was built: they need no framework to be loaded.
const text = readyText(process.argv.slice(2))
if (text !== undefined) {
  process.stdout.write(text)
} else {
  const { execute } = await import('../dist/command-line.js')
  await execute(import.meta.url)
}
