import { Code } from '../components/code.tsx'
import { CopyButton } from '../components/copy-button.tsx'
import { Empty } from '../components/notice.tsx'

const EXAMPLE = `id: hello
description: Says it again
modules:
  - { id: echo, module: echo }
`
const COMMAND = 'agent-host new agent hello'

/** First step of a project without an agent. */
export function FirstAgent() {
  return (
    <Empty title="There is no agent yet">
      Save a YAML file in <code>agents/</code>, such as <code>agents/hello.yml</code>. It is served at once, without a
      restart.
      <Code text={EXAMPLE} language="yaml" />
      <p class="actions">
        <CopyButton text={EXAMPLE} label="Copy the example" />
        <CopyButton text={COMMAND} label={`Copy: ${COMMAND}`} />
      </p>
    </Empty>
  )
}
