import { Code } from '../components/code.tsx'
import { Command } from '../components/command.tsx'
import { CopyButton } from '../components/copy-button.tsx'
import { Empty } from '../components/notice.tsx'

const EXAMPLE = `id: hello
description: Says it again
modules:
  - { id: echo, module: echo }
`

/** First step of a project without an agent. */
export function FirstAgent() {
  return (
    <Empty title="There is no agent yet">
      Save a YAML file in <code>agents/</code>, such as <code>agents/hello.yml</code>. It is served at once, without a
      restart.
      <Code text={EXAMPLE} language="yaml" />
      <CopyButton text={EXAMPLE} label="Copy the example" />
      <Command text="agent-host new agent hello" />
    </Empty>
  )
}
