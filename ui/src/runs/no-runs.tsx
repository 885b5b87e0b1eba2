import { CopyButton } from '../components/copy-button.tsx'
import { Empty } from '../components/notice.tsx'
import { href } from '../router.ts'
import { curlSnippet } from '../snippets/client-snippets.ts'

/** Empty list of runs, with the next step. */
export function NoRuns({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) {
    return (
      <Empty title="No matching runs">
        <a href={href(['runs'])}>Clear the filters</a>, or choose another agent or status.
      </Empty>
    )
  }
  const command = curlSnippet({ model: 'example', message: 'Hello', hasKey: false })
  return (
    <Empty title="No run yet">
      Every run appears here while it happens. <a href={href(['play'])}>Ask an agent in the playground</a>, or through
      the API:
      <pre class="code" tabIndex={0}>
        {command}
      </pre>
      <CopyButton text={command} label="Copy" />
    </Empty>
  )
}
