use super::*;

async fn reader(length: usize, announced: Option<u64>) -> BodyReader {
    let pieces = vec![b'x'; length].chunks(1 << 16).map(Bytes::copy_from_slice).collect::<Vec<_>>();
    let body = Body::from_stream(futures::stream::iter(pieces.into_iter().map(io::Result::Ok)));
    let sent = Sent { body, announced: announced.map(Announced) };
    BodyReader::new(sent, "body_bytes_max", 1 << 30, Duration::from_secs(5)).await
}

#[tokio::test]
async fn a_body_that_is_announced_to_be_short_is_here_before_it_is_read() {
    for length in [0, 1, 1 << 20] {
        let mut reader = reader(length, Some(length as u64)).await;
        assert!(matches!(reader.pieces, BodyPieces::Here(_)), "{length}");
        let mut read = Vec::new();
        reader.read_to_end(&mut read).unwrap();
        assert_eq!(read.len(), length);
    }
    for (length, announced) in [((1 << 20) + 1, Some((1 << 20) + 1)), (5, None)] {
        let reader = reader(length, announced).await;
        assert!(matches!(reader.pieces, BodyPieces::Arriving(_)), "{length}");
    }
}
