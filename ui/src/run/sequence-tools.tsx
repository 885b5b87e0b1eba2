import type { CallTree } from '../../../src/trace/calls/call-tree.ts'
import { toMermaid } from '../../../src/trace/calls/mermaid.ts'
import { CopyButton } from '../components/copy-button.tsx'
import { IconButton } from '../components/icon-button.tsx'
import { saveFile } from '../save-file.ts'
import type { RunSummary } from '../types.ts'
import type { SequenceLayout } from './sequence-layout.ts'
import { writeSequenceSvg } from './sequence-svg.ts'

const ZOOMS = [0.5, 0.67, 0.8, 1, 1.25, 1.5]
/** Smaller letters are not read. */
const MIN_FITTING = 0.67

/** Largest zoom that shows all lanes in a frame, as far as they can be read. @param room width of the frame for each pixel of the diagram */
export function fittingZoom(room: number): number {
  return room > 0 ? Math.max(MIN_FITTING, Math.min(1, Math.floor(room * 100) / 100)) : 1
}

interface SequenceToolsProps {
  readonly run: RunSummary
  readonly tree: CallTree
  readonly layout: SequenceLayout
  readonly zoom: number
  readonly onZoom: (zoom: number) => void
}

/** Zoom of the diagram, and ways to take it along. */
export function SequenceTools({ run, tree, layout, zoom, onZoom }: SequenceToolsProps) {
  const smaller = ZOOMS.findLast((each) => each < zoom)
  const larger = ZOOMS.find((each) => each > zoom)
  const save = () => saveFile(`${run.agent_id}-${run.run_id}.svg`, writeSequenceSvg(layout), 'image/svg+xml')
  return (
    <div class="view-tools" role="toolbar" aria-label="Diagram">
      <IconButton
        icon="minus"
        label="Zoom out"
        isDisabled={smaller === undefined}
        onClick={() => smaller && onZoom(smaller)}
      />
      <span class="muted figure-text">{Math.round(zoom * 100)} %</span>
      <IconButton
        icon="plus"
        label="Zoom in"
        isDisabled={larger === undefined}
        onClick={() => larger && onZoom(larger)}
      />
      <IconButton icon="download" label="Save as SVG" onClick={save} />
      <CopyButton isQuiet text={() => toMermaid(tree)} label="Copy as Mermaid" />
    </div>
  )
}
