"""A client of the protocol: the server answers as its types say, for the largest document that ships."""

import asyncio
import pathlib
import sys

from lsprotocol import types
from pygls.lsp.client import LanguageClient


async def main(orch: str, page: str) -> None:
    client = LanguageClient("orch-test", "1")
    published: asyncio.Queue = asyncio.Queue()

    @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def on_published(params: types.PublishDiagnosticsParams) -> None:
        published.put_nowait(params)

    async def findings(version: int) -> list[types.Diagnostic]:
        while True:
            found = await asyncio.wait_for(published.get(), 20)
            if found.version == version:
                return found.diagnostics

    await client.start_io(orch, "lsp")
    answer = await client.initialize_async(
        types.InitializeParams(capabilities=types.ClientCapabilities(), root_uri=pathlib.Path(page).parent.as_uri())
    )
    assert answer.capabilities.position_encoding == types.PositionEncodingKind.Utf16, answer
    client.initialized(types.InitializedParams())
    uri = pathlib.Path(page).as_uri()
    text = pathlib.Path(page).read_text()
    item = types.TextDocumentItem(uri=uri, language_id="markdown", version=1, text=text)
    client.text_document_did_open(types.DidOpenTextDocumentParams(text_document=item))
    found = await findings(1)
    assert not found, found

    at = text.index("plan.ready") + len("plan.")
    line = text.count("\n", 0, at)
    place = types.Position(line=line, character=at - text.rindex("\n", 0, at) - 1)
    document = types.TextDocumentIdentifier(uri=uri)
    hover = await client.text_document_hover_async(types.HoverParams(text_document=document, position=place))
    assert "plan.ready" in hover.contents.value, hover
    end = types.Position(line=line, character=place.character + len("ready"))
    change = types.TextDocumentContentChangePartial(range=types.Range(start=place, end=end), text="redy")
    client.text_document_did_change(
        types.DidChangeTextDocumentParams(
            text_document=types.VersionedTextDocumentIdentifier(uri=uri, version=2), content_changes=[change]
        )
    )
    found = await findings(2)
    assert [one.code for one in found] == ["guard-unknown-name"], found
    assert found[0].range == types.Range(start=place, end=types.Position(line=line, character=place.character + 4))
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()
    print("pygls: answers have the shapes of the protocol")


asyncio.run(main(sys.argv[1], sys.argv[2]))
